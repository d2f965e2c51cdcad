package placement

import (
	"fmt"
	"strings"
)

// refuse explains why no node takes a task: in full for one node, as counts for several.
func (c *cluster) refuse(t Task) Refusal {
	of := c.classes[classKey{t.Workload, t.Demand}]
	shared := of != nil && t.Replaces == "" && !t.particular() && len(t.Rules.Beside) == 0
	if shared && of.refused != nil {
		r := *of.refused
		r.Task = t.ID
		return r
	}
	r := c.explain(t)
	if shared {
		of.refused = &r
	}
	return r
}

func (c *cluster) explain(t Task) Refusal {
	r := Refusal{Task: t.ID, Crowded: c.crowded(t), Awaits: c.awaits(t)}
	switch len(c.sites) {
	case 0:
		r.Message, r.Next = "no node has joined yet",
			"wait a moment: a server joins as a node when it starts; else see its log"
	case 1:
		if r.noRuntime(c, t) || r.tooLarge(c, t) {
			break
		}
		failed := c.refuses(c.sites[0], t)
		r.Message, r.Next = failed.alone(c, c.sites[0], t), failed.step(c.sites[0])
	default:
		if !r.noRuntime(c, t) && !r.tooLarge(c, t) {
			r.Message, r.Next = c.counts(t)
		}
	}
	return r
}

// noRuntime fills in the refusal of a task whose runtime no node has, and reports whether it is one.
func (r *Refusal) noRuntime(c *cluster, t Task) bool {
	runtimes := make([]string, len(c.sites))
	for i, s := range c.sites {
		runtimes[i] = s.Runtime
	}
	message, next := t.Need.Missing(runtimes)
	if message != "" {
		r.NoRuntime, r.Message, r.Next = true, message, next
	}
	return message != ""
}

// tooLarge fills in the refusal of a task that asks for more than any node has in all, and reports whether it is one. A
// node that didn't report its size may be large enough.
func (r *Refusal) tooLarge(c *cluster, t Task) bool {
	memory, cpus := c.sites[0], c.sites[0]
	for _, s := range c.sites {
		if s.MemoryBytes == 0 || s.CPUs == 0 {
			return false
		}
		if s.MemoryBytes > memory.MemoryBytes {
			memory = s
		}
		if s.CPUs > cpus.CPUs {
			cpus = s
		}
	}
	switch {
	case max(t.MemoryBytes, t.ReservedMemory) > memory.MemoryBytes:
		r.Message = fmt.Sprintf("no node has %s of memory; %s has %s", size(max(t.MemoryBytes, t.ReservedMemory)), memory.ID,
			size(memory.MemoryBytes))
		r.Next = "lower `resources." + largest(float64(t.MemoryBytes), float64(t.ReservedMemory)) +
			".memory` to what a node has"
	case max(t.CPUs, t.ReservedCPUs) > cpus.CPUs+rounding:
		r.Message = fmt.Sprintf("no node has %g cores; %s has %g", max(t.CPUs, t.ReservedCPUs), cpus.ID, cpus.CPUs)
		r.Next = "lower `resources." + largest(t.CPUs, t.ReservedCPUs) + ".cpu` to what a node has"
	default:
		return false
	}
	r.TooLarge = true
	return true
}

// largest names the block of resources that asks for more.
func largest(limit, reserved float64) string {
	if reserved > limit {
		return "reservations"
	}
	return "limits"
}

// counts returns the number of nodes that fail each filter, in the filters' order, and returns the next step for the
// filter that most fail.
func (c *cluster) counts(t Task) (message, next string) {
	failed, last := map[*filter]int{}, map[*filter]*site{}
	for _, s := range c.sites {
		f := c.refuses(s, t)
		failed[f]++
		last[f] = s
	}
	var parts []string
	most := 0
	for _, f := range filters {
		words := f.many
		if failed[f] == 1 {
			words = f.one
		}
		if failed[f] > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d nodes %s", failed[f], len(c.sites), words(c, t)))
		}
		if failed[f] > most {
			most, next = failed[f], f.next
			if most == 1 {
				next = f.step(last[f])
			}
		}
	}
	return strings.Join(parts, "; "), next
}

// step returns the next step where one node alone fails the filter.
func (f *filter) step(s *site) string { return strings.ReplaceAll(f.next, "NODE", s.ID) }

// crowded reports whether a node would take the task if the one it replaces were gone.
func (c *cluster) crowded(t Task) bool {
	if t.Replaces == "" || t.After != "" {
		return false
	}
	t.After = t.Replaces
	return c.scan(t) != nil
}

// size formats bytes as people write them: 512Mi.
func size(bytes int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		switch {
		case bytes >= unit.bytes && bytes%unit.bytes == 0:
			return fmt.Sprintf("%d%s", bytes/unit.bytes, unit.name)
		case bytes >= 10*unit.bytes:
			return fmt.Sprintf("%.1f%s", float64(bytes)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}
