package placement

import (
	"fmt"
	"strings"
)

// refuse explains why no node takes a task: of one node in full, of several as counts.
func (c *cluster) refuse(t Task) Refusal {
	r := Refusal{Task: t.ID, Crowded: c.crowded(t)}
	switch len(c.sites) {
	case 0:
		r.Message = "no node has joined yet"
	case 1:
		r.Message = c.sites[0].refuses(t).alone(c.sites[0], t)
	default:
		r.Message = c.counts(t)
	}
	return r
}

// counts says how many nodes fail each filter, in the filters' order.
func (c *cluster) counts(t Task) string {
	failed := map[*filter]int{}
	for _, s := range c.sites {
		failed[s.refuses(t)]++
	}
	var parts []string
	for _, f := range filters {
		words := f.many
		if failed[f] == 1 {
			words = f.one
		}
		if failed[f] > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d nodes %s", failed[f], len(c.sites), words(t)))
		}
	}
	return strings.Join(parts, "; ")
}

// crowded says whether a node would take the task if the one it replaces were gone.
func (c *cluster) crowded(t Task) bool {
	if t.Replaces == "" || t.After != "" {
		return false
	}
	t.After = t.Replaces
	return c.best(t) != nil
}

// size writes bytes as people ask for them: 512Mi.
func size(bytes int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		switch {
		case bytes >= unit.bytes && bytes%unit.bytes == 0:
			return fmt.Sprintf("%d%s", bytes/unit.bytes, unit.name)
		case bytes >= 10*unit.bytes:
			return fmt.Sprintf("%.1f%s", float64(bytes)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}
