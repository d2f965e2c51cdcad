package records

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Placing returns the revision at which a task was last given its node, or 0.
func (s Snapshot) Placing() int64 {
	record, _ := s.Get(PlacingKey)
	return record.Modified
}

// GuardPlacing makes the transaction, which places tasks by a snapshot, fail if another one has placed tasks since
// then.
func (t *Txn) GuardPlacing(by Snapshot) *Txn {
	return t.If(PlacingKey, by.Placing()).Put(PlacingKey, "placed")
}

// Tasks returns the tasks that the transaction writes, in their order, and the ids of those that it deletes.
func (t *Txn) Tasks() (written []api.Task, deleted []string) {
	for i, op := range t.txn.Do {
		if task, is := t.written[i].(api.Task); is {
			written = append(written, task)
		}
		if id, is := strings.CutPrefix(op.Key, TasksPrefix); is && op.Delete {
			deleted = append(deleted, id)
		}
	}
	return written, deleted
}

// Created returns the written tasks that are new and wait for a node.
func (t *Txn) Created() []api.Task {
	written, _ := t.Tasks()
	return slices.DeleteFunc(written, func(task api.Task) bool { return task.Node != "" || !t.creates(TaskKey(task.ID)) })
}

func (t *Txn) creates(key string) bool {
	for _, c := range t.txn.If {
		if c.Key == key {
			return c.Modified == 0
		}
	}
	return false
}

// Releases returns the releases that the transaction writes.
func (t *Txn) Releases() (out []*api.Release) {
	for i := range t.txn.Do {
		if release, is := t.written[i].(*api.Release); is {
			out = append(out, release)
		}
	}
	return out
}

// Placed returns a copy of the transaction, with the nodes of tasks that it writes, by the tasks' ids.
func (t *Txn) Placed(nodes map[string]string) *Txn {
	next := &Txn{txn: t.txn, err: t.err, written: maps.Clone(t.written)}
	next.txn.If, next.txn.Do = slices.Clone(t.txn.If), slices.Clone(t.txn.Do)
	for i, record := range t.written {
		if task, is := record.(api.Task); is && nodes[task.ID] != "" {
			task.Node = nodes[task.ID]
			next.rewrite(i, task)
		}
	}
	return next
}
