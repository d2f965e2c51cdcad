package owner

import (
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/records"
)

// PutStatus adds a status to a transaction if it differs from the stored one, and together with every other write: it is
// the guard of control.Deps.Commit.
func PutStatus[T any](txn *records.Txn, key string, stored records.Read[T], next T) error {
	changed, err := control.Differs(stored.Value, next)
	if changed || !txn.Empty() {
		txn.If(key, stored.Modified).Put(key, next)
	}
	return err
}

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
