package ownership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"tend.dev/tend/api"
)

// maxWrites bounds how many writes are remembered of one manager: beyond it, the oldest ones are merged.
const maxWrites = 8

// write holds the fields that one change set, without those changed since.
type write struct {
	manager, actor string
	at             time.Time
	// orBefore: older writes of the manager are in it; the actor is empty if they had several.
	orBefore bool
	// fields are leaves. Two writes of one manager have none in common.
	fields *fieldpath.Set
}

// record lists the writes with their managers and fields, the older writes of a manager first. Together the writes
// name every leaf of the spec.
type record []write

// storedWrite is a write as it is stored in the metadata. The largest one has Rest: besides its Fields, it has all
// leaves that no write names. So the record of an applied object is one line, however many fields the object has.
type storedWrite struct {
	Manager  string          `json:"manager"`
	Actor    string          `json:"actor,omitempty"`
	At       time.Time       `json:"at,omitzero"`
	OrBefore bool            `json:"orBefore,omitempty"`
	Rest     bool            `json:"rest,omitempty"`
	Fields   json.RawMessage `json:"fields,omitempty"`
}

// read returns the record of an object whose leaves are all.
func read(stored Stored, all *fieldpath.Set) (record, error) {
	var lines []storedWrite
	if len(stored.Fields) > 0 {
		if err := json.Unmarshal(stored.Fields, &lines); err != nil {
			return nil, fmt.Errorf("read who set which field: %w", err)
		}
	}
	var out record
	named, rest := fieldpath.NewSet(), -1
	for i, line := range lines {
		fields := fieldpath.NewSet()
		if len(line.Fields) > 0 {
			if err := fields.FromJSON(bytes.NewReader(line.Fields)); err != nil {
				return nil, fmt.Errorf("read what %s set: %w", line.Manager, err)
			}
			named = named.Union(fields)
		}
		if line.Rest {
			rest = i
		}
		out = append(out, write{line.Manager, line.Actor, line.At, line.OrBefore, fields.Intersection(all)})
	}
	if rest < 0 {
		out, rest = append(record{{manager: api.ManagerApply, at: stored.Since, fields: fieldpath.NewSet()}}, out...), 0
	}
	out[rest].fields = out[rest].fields.Union(all.Difference(named))
	return out.compact(), nil
}

// text returns the record as it is stored; none for an object without leaves.
func (r record) text() (json.RawMessage, error) {
	if len(r) == 0 {
		return nil, nil
	}
	rest := 0
	for i := range r {
		if r[i].fields.Size() > r[rest].fields.Size() {
			rest = i
		}
	}
	lines := make([]storedWrite, len(r))
	for i, w := range r {
		fields := w.fields
		if i == rest {
			fields = fields.Intersection(r.fields(func(manager string) bool { return manager != w.manager }))
		}
		lines[i] = storedWrite{Manager: w.manager, Actor: w.actor, At: w.at, OrBefore: w.orBefore, Rest: i == rest}
		if fields.Empty() {
			continue
		}
		var err error
		if lines[i].Fields, err = fields.ToJSON(); err != nil {
			return nil, fmt.Errorf("write what %s set: %w", w.manager, err)
		}
	}
	return json.Marshal(lines)
}

// fields returns the leaves of the managers that count.
func (r record) fields(counts func(manager string) bool) *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, w := range r {
		if counts(w.manager) {
			out = out.Union(w.fields)
		}
	}
	return out
}

// add returns the record with fields newly set by a change.
func (r record) add(change Change, fields *fieldpath.Set) record {
	if fields.Empty() {
		return r
	}
	at := change.At.UTC().Truncate(time.Second)
	for i, w := range r {
		if w.manager == change.Manager && w.actor == change.Actor && w.at.Equal(at) && !w.orBefore {
			r[i].fields = w.fields.Union(fields)
			return r
		}
	}
	return append(r, write{manager: change.Manager, actor: change.Actor, at: at, fields: fields}).bounded(change.Manager)
}

// bounded merges the two oldest writes of a manager if it has too many.
func (r record) bounded(manager string) record {
	var own []int
	for i, w := range r {
		if w.manager == manager {
			own = append(own, i)
		}
	}
	if len(own) <= maxWrites {
		return r
	}
	older, newer := r[own[0]], &r[own[1]]
	if newer.actor != older.actor {
		newer.actor = ""
	}
	if older.at.After(newer.at) {
		newer.at = older.at // a clock was set back
	}
	newer.orBefore = true
	newer.fields = newer.fields.Union(older.fields)
	r[own[0]].fields = fieldpath.NewSet()
	return r.compact()
}

// compact removes writes of which nothing is left.
func (r record) compact() record {
	out := r[:0]
	for _, w := range r {
		if !w.fields.Empty() {
			out = append(out, w)
		}
	}
	return out
}

func (r record) equal(other record) bool {
	if len(r) != len(other) {
		return false
	}
	for i, w := range r {
		v := other[i]
		if w.manager != v.manager || w.actor != v.actor || !w.at.Equal(v.at) || w.orBefore != v.orBefore ||
			!w.fields.Equals(v.fields) {
			return false
		}
	}
	return true
}
