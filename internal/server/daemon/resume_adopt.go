package daemon

import (
	"context"
	"errors"
	"fmt"

	"tend.dev/tend/internal/core/adoption"
	"tend.dev/tend/internal/store/records"
)

// adopt assigns containers to tasks, all or none.
func (d *daemon) adopt(ctx context.Context, snap records.Snapshot, adopted []adoption.Adoption) error {
	if len(adopted) == 0 {
		return nil
	}
	taken := map[string]bool{}
	txn := d.resumeTxn("resume.adopt")
	for _, a := range adopted {
		old, slot := snap.Task(a.Old.ID), snap.Slot(a.Old.Owner(), a.Old.Slot)
		switch {
		case a.Old.ID == a.New.ID:
			txn.If(records.TaskKey(a.Old.ID), old.Modified).
				Put(records.TaskKey(a.Old.ID), a.New).Delete(records.TaskStatusKey(a.Old.ID))
		case a.Old.Slot == a.New.Slot:
			txn.ReplaceTask(old, slot, a.New)
		default:
			txn.ForgetTask(old).CreateTask(a.New)
		}
		taken[a.Old.ID] = true
	}
	for _, task := range snap.Tasks() {
		if next := *task.Value; !taken[next.ID] && adoption.Rename(&next, adopted) {
			txn.If(records.TaskKey(next.ID), task.Modified).Put(records.TaskKey(next.ID), next)
		}
	}
	revision, err := txn.Commit(ctx, d.store)
	if err != nil {
		return fmt.Errorf("adopt the running containers: %w", err)
	}
	return d.view.WaitFor(ctx, revision)
}

// discardEnded removes the ended containers of tasks that adopted a running one: no record refers to them any more.
func (d *daemon) discardEnded(ctx context.Context, adopted []adoption.Adoption) error {
	replaced := map[string]bool{}
	for _, a := range adopted {
		replaced[a.Old.ID] = a.Old.ID != a.New.ID
	}
	var left []stray
	for _, id := range d.fleet.Connected() {
		on, err := d.fleet.Node(id)
		if err != nil {
			return err
		}
		listed, err := on.List(ctx)
		if err != nil {
			return fmt.Errorf("list the containers of %s: %w", id, err)
		}
		for _, c := range listed {
			if replaced[c.Task()] && hasEnded(c) {
				left = append(left, stray{adoption.Orphan{ID: c.ID, Name: c.Name, Task: c.Task()}, id})
			}
		}
	}
	_, err := d.discard(ctx, left)
	return err
}

// discard stops and removes containers, and returns their names. It leaves containers whose task is in the store by
// now. Volumes stay.
func (d *daemon) discard(ctx context.Context, left []stray) (stopped []string, err error) {
	var faults []error
	for _, s := range left {
		still, err := d.unknown(ctx, []stray{s})
		if err == nil && len(still) == 0 {
			continue
		}
		if err == nil {
			err = d.stop(ctx, s)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("stop %s: %w", s.Name, err))
			continue
		}
		stopped = append(stopped, s.Name)
	}
	return stopped, errors.Join(faults...)
}

// stop stops and removes a container.
func (d *daemon) stop(ctx context.Context, s stray) error {
	on, err := d.fleet.Node(s.node)
	if err != nil {
		return err
	}
	return on.Discard(ctx, s.ID)
}
