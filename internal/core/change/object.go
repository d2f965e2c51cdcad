package change

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// Event describes a change of an object.
type Event struct {
	Action api.EventAction
	Data   api.EventData
}

// Object returns the events of a write of an object. A nil old means that the write creates it, a nil next that it
// deletes it. A write that changes nothing makes none.
func Object(old, next *api.Object) []Event {
	switch {
	case old == nil && next == nil:
		return nil
	case old == nil:
		return []Event{{api.EventCreated, About(*next)}}
	case next == nil:
		out := []Event{{api.EventDeleted, About(*old)}}
		if old.Metadata.Deleting() {
			out = append(out, Event{api.EventFinalized, About(*old)})
		}
		return out
	case old.Metadata.UID != next.Metadata.UID: // another object has the name now
		return append(Object(old, nil), Object(nil, next)...)
	case same(old.Metadata, next.Metadata) && bytes.Equal(old.Spec, next.Spec):
		return nil
	}
	data := About(*next)
	if old.Metadata.Generation != next.Metadata.Generation {
		data.OldGeneration = old.Metadata.Generation
	}
	found := &leaves{shows: specShows}
	if next.Kind.Info().Private {
		found.shows = nothing
	}
	found.compare("spec", old.Spec, next.Spec)
	found.metadata(old.Metadata, next.Metadata)
	data.Changes, data.MoreChanges = found.list()
	return []Event{{api.EventUpdated, data}}
}

// About returns what every event of an object says.
func About(o api.Object) api.EventData {
	data := api.EventData{UID: o.Metadata.UID, Kind: o.Kind, Scope: o.Scope, Name: o.Name,
		Generation: o.Metadata.Generation}
	if o.Kind.TimeBoxed() {
		var spec api.LabSpec
		_ = json.Unmarshal(o.Spec, &spec) // of another version: what can be read of it counts
		data.Lab = &api.EventLab{Owner: Cut(spec.Owner, maxMessage), Class: Cut(spec.Class, maxMessage)}
	}
	return data
}

// same compares what an object's write may change beside its spec.
func same(old, next api.Metadata) bool {
	old.Revision, next.Revision = 0, 0
	a, errA := json.Marshal(old)
	b, errB := json.Marshal(next)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// metadata adds the changes beside the spec. The time and the record of each write don't count as changes.
func (l *leaves) metadata(old, next api.Metadata) {
	for name, pair := range map[string][2]map[string]string{
		"labels": {old.Labels, next.Labels}, "annotations": {old.Annotations, next.Annotations},
		"stamps": {old.Stamps, next.Stamps},
	} {
		before, after := pair[0], pair[1]
		for key := range before {
			if value, ok := after[key]; !ok || value != before[key] {
				l.add(below("metadata."+name, key), valueOf(before, key), valueOf(after, key))
			}
		}
		for key := range after {
			if _, ok := before[key]; !ok {
				l.add(below("metadata."+name, key), nil, valueOf(after, key))
			}
		}
	}
	if !maps.Equal(owners(old), owners(next)) {
		l.add("metadata.owners", nil, nil)
	}
	if !slices.Equal(old.Finalizers, next.Finalizers) {
		l.add("metadata.finalizers", nil, nil)
	}
	if instant(old.DeletedAt) != instant(next.DeletedAt) {
		l.add("metadata.deletedAt", nil, nil)
	}
}

// valueOf returns a value as JSON; nil if there is none.
func valueOf(values map[string]string, key string) json.RawMessage {
	value, ok := values[key]
	if !ok {
		return nil
	}
	raw, _ := json.Marshal(value)
	return raw
}

func owners(m api.Metadata) map[api.Ref]bool {
	out := map[api.Ref]bool{}
	for _, ref := range m.Owners {
		out[ref] = true
	}
	return out
}

func instant(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
