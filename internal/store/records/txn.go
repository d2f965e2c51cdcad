package records

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
)

// Committer is the part of a store that writes.
type Committer interface {
	Commit(ctx context.Context, txn store.Txn) (int64, error)
}

// Txn collects typed writes that are committed together or not at all. The zero value is not usable: see NewTxn.
type Txn struct {
	txn store.Txn
	err error
	// written are the records that may carry a trace, and the releases, by the index of their operation.
	written map[int]any
}

// NewTxn returns an empty transaction; site names the place in the code for failpoints and metrics.
func NewTxn(site string) *Txn { return &Txn{txn: store.Txn{Site: site}} }

// If requires that a key was last modified at a revision; 0 requires that it does not exist.
func (t *Txn) If(key string, modified int64) *Txn {
	t.txn.If = append(t.txn.If, store.Condition{Key: key, Modified: modified})
	return t
}

// Put writes a record as JSON; a string is written as it is.
func (t *Txn) Put(key string, record any) *Txn {
	value, err := encode(record)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("encode %s: %w", key, err)
	}
	switch record.(type) {
	case api.Object, api.Task, api.ImageRequest, *api.Release:
		if t.written == nil {
			t.written = map[int]any{}
		}
		t.written[len(t.txn.Do)] = record
	}
	t.txn.Do = append(t.txn.Do, store.Op{Key: key, Value: value})
	return t
}

// PutLeased writes a record that is deleted when its lease ends.
func (t *Txn) PutLeased(key string, record any, lease store.LeaseID) *Txn {
	t.Put(key, record)
	t.txn.Do[len(t.txn.Do)-1].Lease = lease
	return t
}

// Delete removes a key.
func (t *Txn) Delete(key string) *Txn {
	t.txn.Do = append(t.txn.Do, store.Op{Key: key, Delete: true})
	return t
}

// CreateTask writes a new task and claims its slot, on the condition that neither exists, so that a slot never has two
// live tasks.
func (t *Txn) CreateTask(task api.Task) *Txn {
	t.If(TaskKey(task.ID), 0).Put(TaskKey(task.ID), task)
	return t.If(SlotKey(task.Owner(), task.Slot), 0).Put(SlotKey(task.Owner(), task.Slot), task.ID)
}

// ReplaceTask deletes the record of an ended task and gives its slot to a new one, on the condition that neither the
// task nor the slot was written since they were read.
func (t *Txn) ReplaceTask(old Read[api.Task], slot Read[string], task api.Task) *Txn {
	if !slot.Exists() || *slot.Value != old.Value.ID {
		t.err = fmt.Errorf("task %s: slot %s is not its own", old.Value.ID, old.Value.Slot)
		return t
	}
	t.If(TaskKey(old.Value.ID), old.Modified).Delete(TaskKey(old.Value.ID)).Delete(TaskStatusKey(old.Value.ID))
	t.If(TaskKey(task.ID), 0).Put(TaskKey(task.ID), task)
	return t.If(SlotKey(task.Owner(), task.Slot), slot.Modified).Put(SlotKey(task.Owner(), task.Slot), task.ID)
}

// SupersedeTask gives the slot of an ended task to a new one, as ReplaceTask does, but keeps the old task's record as a
// leftover: its node is off, and has to remove the container when it returns. Volumes stay.
func (t *Txn) SupersedeTask(old Read[api.Task], slot Read[string], task api.Task, now time.Time) *Txn {
	if !slot.Exists() || *slot.Value != old.Value.ID {
		t.err = fmt.Errorf("task %s: slot %s is not its own", old.Value.ID, old.Value.Slot)
		return t
	}
	leftover := *old.Value
	leftover.Leftover, leftover.Wipe = true, false
	old.Value = &leftover
	t.RaiseTask(old, api.DesiredRemoved, "its node is off", now)
	t.If(TaskKey(task.ID), 0).Put(TaskKey(task.ID), task)
	return t.If(SlotKey(task.Owner(), task.Slot), slot.Modified).Put(SlotKey(task.Owner(), task.Slot), task.ID)
}

// LeaveTask turns an ended task into a leftover and frees its slot: its node doesn't answer, and nothing waits for it.
// Volumes stay: the release that names them is deleted with the object, and an object made again under the same name
// has volumes of the same names.
func (t *Txn) LeaveTask(old Read[api.Task]) *Txn {
	task := *old.Value
	task.Leftover, task.Wipe = true, false
	t.If(TaskKey(task.ID), old.Modified).Put(TaskKey(task.ID), task)
	return t.Delete(SlotKey(task.Owner(), task.Slot))
}

// ForgetTask deletes an ended task, its slot, and the observed half that a removed node may have left, on the condition
// that the task was not written since it was read.
func (t *Txn) ForgetTask(old Read[api.Task]) *Txn {
	id := old.Value.ID
	t.If(TaskKey(id), old.Modified).Delete(TaskKey(id)).Delete(TaskStatusKey(id))
	if old.Value.Leftover { // its slot belongs to another task
		return t
	}
	return t.Delete(SlotKey(old.Value.Owner(), old.Value.Slot))
}

// RaiseTask writes a task with a raised desired state, on the condition that it was not written since it was read.
func (t *Txn) RaiseTask(read Read[api.Task], desired api.DesiredState, reason string, now time.Time) *Txn {
	task := *read.Value
	if !task.Desired.CanBecome(desired) {
		t.err = fmt.Errorf("task %s: desired state can't fall from %s to %s", task.ID, task.Desired, desired)
		return t
	}
	if task.EndedAt.IsZero() {
		task.EndedAt, task.Reason = now, reason
	}
	task.Desired = desired
	return t.If(TaskKey(task.ID), read.Modified).Put(TaskKey(task.ID), task)
}

// Writes reports whether the transaction writes or deletes a key.
func (t *Txn) Writes(key string) bool {
	return slices.ContainsFunc(t.txn.Do, func(op store.Op) bool { return op.Key == key })
}

// Guards reports whether the transaction compares key and also writes it, so that of two transactions decided from the
// same state only one can ever be applied, however late. A transaction that only deletes needs only the comparison.
func (t *Txn) Guards(key string) bool {
	compares := slices.ContainsFunc(t.txn.If, func(c store.Condition) bool { return c.Key == key })
	deletes := !slices.ContainsFunc(t.txn.Do, func(op store.Op) bool { return !op.Delete })
	return compares && (deletes || t.Writes(key))
}

// Site returns the place in the code that commits, as NewTxn got it.
func (t *Txn) Site() string { return t.txn.Site }

// Empty reports whether nothing would be written.
func (t *Txn) Empty() bool { return len(t.txn.Do) == 0 }

// Err returns the reason why no store takes the transaction, such as a key that is written twice, or nil.
func (t *Txn) Err() error {
	if t.err != nil || t.Empty() {
		return t.err
	}
	return t.txn.Validate()
}

// Len returns the number of operations.
func (t *Txn) Len() int { return len(t.txn.Do) }

// Commit writes everything, or nothing. An empty transaction writes nothing and returns 0.
func (t *Txn) Commit(ctx context.Context, to Committer) (int64, error) {
	if t.err != nil {
		return 0, t.err
	}
	if t.Empty() {
		return 0, nil
	}
	return to.Commit(ctx, t.txn) // the store's errors name the site
}

func encode(record any) ([]byte, error) {
	switch r := record.(type) {
	case string:
		return []byte(r), nil
	case []byte:
		return r, nil
	}
	return json.Marshal(record)
}
