package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// quietTime is the time for which a world at rest is watched, in virtual time.
const quietTime = 90 * time.Second

// rests requires that a world in the declared state does nothing.
func (w *World) rests() {
	w.pass(30 * time.Second) // the cleanup after a rollout: old containers and releases
	behind := w.clockBehind()
	before, since, calls := w.entries(), w.revision(), w.engine.Mutations()
	w.pass(quietTime)
	after := w.entries()
	if changed := w.changes(before, after, behind); len(changed) > 0 {
		w.fail("an up-to-date world wrote in %s: %s", quietTime, strings.Join(changed, ", "))
	}
	if commits := w.revision() - since; commits > 0 && maps.EqualFunc(before, after, unchanged) {
		w.fail("an up-to-date world wrote in %s and took it back: %d commits", quietTime, commits)
	}
	if more := w.engine.Mutations() - calls; more != 0 {
		w.fail("an up-to-date world changed containers %d times in %s", more, quietTime)
	}
	w.readAll()
}

func unchanged(a, b store.Entry) bool { return a.Modified == b.Modified }

func (w *World) revision() int64 {
	page, err := w.store.List(context.Background(), records.ClusterKey, store.ListOptions{})
	if err != nil {
		w.fail("read the store: %v", err)
	}
	return page.Revision
}

// entries returns everything in the store, by key.
func (w *World) entries() map[string]store.Entry {
	page, err := w.store.List(context.Background(), "/", store.ListOptions{})
	if err != nil {
		w.fail("read the store: %v", err)
	}
	out := map[string]store.Entry{}
	for _, entry := range page.Entries {
		out[entry.Key] = entry
	}
	return out
}

// changes returns the keys written and deleted between two reads, except those that time alone changes: old losses of
// nodes, and the named statuses with the events of the same commits.
func (w *World) changes(before, after map[string]store.Entry, statuses []string) []string {
	reported := map[int64]bool{}
	for _, key := range statuses {
		reported[after[key].Modified] = true
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(after)) {
		entry, event := after[key], strings.HasPrefix(key, records.EventsPrefix)
		switch {
		case entry.Modified == before[key].Modified, slices.Contains(statuses, key), event && reported[entry.Modified]:
		case strings.HasPrefix(key, records.LossesPrefix) && w.forgets(before[key], entry):
		default:
			out = append(out, fmt.Sprintf("%s (%.2000s)", key, entry.Value))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		_, there := after[key]
		if lapsed := strings.HasPrefix(key, records.LossesPrefix) &&
			w.forgets(before[key], store.Entry{}); !there && !lapsed {
			out = append(out, key+" was deleted")
		}
	}
	return out
}

// forgets reports whether a node's losses only lost entries that are an hour old.
func (w *World) forgets(before, after store.Entry) bool {
	var old, left api.NodeLosses
	decode(before.Value, &old)
	decode(after.Value, &left)
	for _, at := range left.At {
		if !slices.ContainsFunc(old.At, at.Equal) {
			return false
		}
	}
	for _, at := range old.At {
		if !slices.ContainsFunc(left.At, at.Equal) && w.now().Sub(at) < time.Hour {
			return false
		}
	}
	return len(left.At) < len(old.At)
}
