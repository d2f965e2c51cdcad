package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// end returns the whole state after a scenario, without the fields that differ between runs: every record of the store
// and every container of the engine, a line each, in order. It leaves out the logs, which show the course of events.
func (d *drill) end() []string {
	d.t.Helper()
	page, err := d.m.store.List(context.Background(), "/", store.ListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	var lines []string
	for _, entry := range page.Entries {
		if strings.HasPrefix(entry.Key, records.EventsPrefix) || strings.HasPrefix(entry.Key, records.AuditPrefix) {
			continue
		}
		lines = append(lines, anonymousKey(entry.Key)+" "+anonymousValue(entry))
	}
	for _, c := range d.m.engine.Containers() {
		name, _, _ := strings.Cut(c.Name, ".")
		lines = append(lines, fmt.Sprintf("container %s.* %s of %s", name, c.State, c.ImageID))
	}
	slices.Sort(lines)
	return lines
}

// randomID matches the id of a task or a slot.
var randomID = regexp.MustCompile(`/[0-9a-f]{8,}$`)

func anonymousKey(key string) string { return randomID.ReplaceAllString(key, "/*") }

// own are the fields that may differ between two runs: ids, times (and who set which field when), revisions, data
// encrypted under a run's own keys, and the folder of a run that a sync applies.
var own = map[string]bool{
	"id": true, "uid": true, "slot": true, "replaces": true, "after": true, "container": true,
	"address": true, "pid": true, "life": true,
	"keyFingerprint": true, "knows": true, "uses": true, "ownerUID": true, "env": true, "envHash": true, "envOver": true,
	"observedRevision": true, "changedRevision": true, "fields": true, "at": true,
	"applyset": true, "dir": true, "source": true,
}

func anonymousValue(entry store.Entry) string {
	var value map[string]any
	if err := json.Unmarshal(entry.Value, &value); err != nil {
		return "…" // an id, or encrypted
	}
	out, err := json.Marshal(anonymous(value))
	if err != nil {
		panic(err)
	}
	if ofClusters.MatchString(entry.Key) {
		out = random.ReplaceAll(out, []byte("*"))
	}
	return string(out)
}

// ofClusters matches the keys of what is known of clusters and their objects: ids of objects and of jobs stand within
// their texts, hashes of tokens and of events, and the revisions in the keys of jobs.
var (
	ofClusters = regexp.MustCompile(`^/(clusters|actual/objects|status/applicationinstance)/`)
	random     = regexp.MustCompile(`[0-9a-f]{16,}|\^[0-9]+`)
)

func anonymous(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(name string, _ any) bool {
			return own[name] || strings.HasSuffix(name, "At") || strings.HasSuffix(name, "Time")
		})
		for name, field := range value {
			value[name] = anonymous(field)
		}
	case []any:
		for i := range value {
			value[i] = anonymous(value[i])
		}
	}
	return value
}
