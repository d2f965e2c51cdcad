package owner

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Slots draws slot ids that no task has.
type Slots struct {
	draw  func() string
	taken map[string]bool
}

// NewSlots returns a Slots that avoids the slots of tasks. draw draws an id.
func NewSlots(draw func() string, tasks []Task) *Slots {
	s := &Slots{draw: draw, taken: make(map[string]bool, len(tasks))}
	for _, t := range tasks {
		s.taken[t.Desired.Value.Slot] = true
	}
	return s
}

// Next returns an id that no task has and that was not returned before.
func (s *Slots) Next() string {
	for {
		if id := s.draw(); !s.taken[id] {
			s.taken[id] = true
			return id
		}
	}
}

// DropReleases deletes the releases that nothing refers to any more: no task, not what is used otherwise, by their ids,
// and not the newest one.
func DropReleases(txn *records.Txn, ref api.Ref, releases []records.Read[api.Release], tasks []Task,
	used map[string]bool) {
	if newest := Newest(releases); newest != nil {
		used[newest.ID] = true
	}
	for _, task := range tasks {
		used[task.Desired.Value.Release] = true
	}
	for _, release := range releases {
		if !used[release.Value.ID] {
			txn.Delete(records.ReleaseKey(ref, release.Value.ID))
		}
	}
}
