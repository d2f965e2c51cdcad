package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/adoption"
	"tend.dev/tend/internal/store/records"
)

// adoptedAtOnce bounds the adoptions of one commit. Each has at most five operations, beside the tasks that it renames.
const adoptedAtOnce = 1000

// adopt assigns containers to tasks, in commits of a bounded size. After a crash between two of them, the next resume
// adopts the rest.
func (d *daemon) adopt(ctx context.Context, snap records.Snapshot, adopted []adoption.Adoption, term int64) error {
	places := newPlaces(snap)
	for part := range slices.Chunk(adopted, adoptedAtOnce) {
		txn := resumeTxn("resume.adopt", term)
		written := places.adopt(txn, part)
		revision, err := txn.Commit(ctx, d.store)
		if err != nil {
			return fmt.Errorf("adopt the running containers: %w", err)
		}
		places.stored(part, written, revision)
		if err := d.view.WaitFor(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// places are the tasks in the store while containers are assigned to them. After each commit every task replaces one
// that is stored: a later part renames what an earlier one stored.
type places struct {
	snap  records.Snapshot
	tasks map[string]records.Read[api.Task]
}

func newPlaces(snap records.Snapshot) places {
	p := places{snap, map[string]records.Read[api.Task]{}}
	for _, task := range snap.Tasks() {
		p.tasks[task.Value.ID] = task
	}
	return p
}

// adopt writes the adoptions of a part, and renames the tasks that replace theirs. It returns the tasks that it writes.
func (p places) adopt(txn *records.Txn, part []adoption.Adoption) (written []api.Task) {
	taken := map[string]bool{}
	for _, a := range part {
		old, next := p.tasks[a.Old.ID], a.New
		next.Replaces = old.Value.Replaces // an earlier part may have renamed it
		adoption.Rename(&next, part)
		switch {
		case a.Old.ID == next.ID:
			txn.If(records.TaskKey(a.Old.ID), old.Modified).
				Put(records.TaskKey(a.Old.ID), next).Delete(records.TaskStatusKey(a.Old.ID))
		case a.Old.Slot == next.Slot:
			txn.ReplaceTask(old, p.snap.Slot(a.Old.Owner(), a.Old.Slot), next)
		default:
			txn.ForgetTask(old).CreateTask(next)
		}
		taken[a.Old.ID], written = true, append(written, next)
	}
	for _, id := range slices.Sorted(maps.Keys(p.tasks)) {
		if next := *p.tasks[id].Value; !taken[id] && adoption.Rename(&next, part) {
			txn.If(records.TaskKey(id), p.tasks[id].Modified).Put(records.TaskKey(id), next)
			written = append(written, next)
		}
	}
	return written
}

// stored records the commit of a part.
func (p places) stored(part []adoption.Adoption, written []api.Task, revision int64) {
	for _, a := range part {
		delete(p.tasks, a.Old.ID)
	}
	for _, task := range written {
		p.tasks[task.ID] = records.Read[api.Task]{Value: &task, Modified: revision}
	}
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
