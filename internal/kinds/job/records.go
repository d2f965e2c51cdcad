package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/store/records"
)

// records holds the runs of an object as one step leaves them.
type history struct {
	ref  api.Ref
	read map[string]records.Read[api.Run]
	next map[string]api.Run
}

// newHistory returns the runs, updated from the status of their tasks.
func newHistory(o observed) *history {
	r := &history{ref: o.ref, read: map[string]records.Read[api.Run]{}, next: map[string]api.Run{}}
	tasks := o.timetable(nil).Tasks
	for _, run := range o.runs {
		r.read[run.Value.ID] = run
		r.next[run.Value.ID] = timetable.Record(*run.Value, tasks)
	}
	return r
}

func (r *history) create(run api.Run) {
	run.Kind, run.Scope, run.Name = r.ref.Kind, r.ref.Scope, r.ref.Name
	r.next[run.ID] = run
}

// sorted returns the remaining runs, oldest first.
func (r *history) sorted() []api.Run {
	out := make([]api.Run, 0, len(r.next))
	for _, run := range r.next {
		out = append(out, run)
	}
	slices.SortFunc(out, func(a, b api.Run) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt),
			cmp.Compare(a.ID, b.ID))
	})
	return out
}

// sameRun compares two runs as they would be stored: equal times may differ in memory.
func sameRun(a, b api.Run) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	one, errOne := json.Marshal(a)
	two, errTwo := json.Marshal(b)
	return errOne == nil && errTwo == nil && bytes.Equal(one, two)
}

// change is one run to write, or to delete if next is nil. modified is the revision it was read at.
type change struct {
	id       string
	modified int64
	next     *api.Run
}

func (r *history) changes() []change {
	var out []change
	for id, read := range r.read {
		next, stays := r.next[id]
		switch {
		case !stays:
			out = append(out, change{id: id, modified: read.Modified})
		case !sameRun(next, *read.Value):
			out = append(out, change{id: id, modified: read.Modified, next: &next})
		}
	}
	for id, next := range r.next {
		if _, known := r.read[id]; !known {
			out = append(out, change{id: id, next: &next})
		}
	}
	slices.SortFunc(out, func(a, b change) int { return cmp.Compare(a.id, b.id) })
	return out
}
