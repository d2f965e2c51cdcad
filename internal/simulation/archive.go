package simulation

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store"
)

// archive remembers what was ever committed about tasks, with the release each was made from at the instant it was made.
type archive struct {
	w        *World
	mu       sync.Mutex
	tasks    map[string]taskRecord
	releases map[string]api.Release // by key: the newest under it
	objects  map[string]identity    // by key
}

// identity is which object of a name there is.
type identity struct {
	uid     string
	created int64
}

// taskRecord is a task as it was made.
type taskRecord struct {
	task    api.Task
	release api.Release
	known   bool // the release was in the store
	owner   string
	born    int64 // the revision the owner was made at
}

func newArchive(w *World) *archive {
	return &archive{w: w, tasks: map[string]taskRecord{}, releases: map[string]api.Release{}, objects: map[string]identity{}}
}

// commit takes in a transaction that was applied.
func (a *archive) commit(txn store.Txn, revision int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, op := range txn.Do { // what tasks refer to comes first
		switch {
		case strings.HasPrefix(op.Key, layout.ReleasesPrefix):
			a.release(op, revision)
		case strings.HasPrefix(op.Key, layout.DesiredPrefix):
			a.object(op, revision)
		}
	}
	for _, op := range txn.Do {
		switch {
		case op.Delete:
		case strings.HasPrefix(op.Key, layout.TasksPrefix):
			a.task(op)
		case strings.HasPrefix(op.Key, layout.RunsPrefix):
			a.run(op)
		}
	}
}

func (a *archive) release(op store.Op, _ int64) {
	if op.Delete {
		delete(a.releases, op.Key)
		return
	}
	var release api.Release
	decode(op.Value, &release)
	a.releases[op.Key] = release
}

func (a *archive) object(op store.Op, revision int64) {
	if op.Delete {
		delete(a.objects, op.Key)
		return
	}
	var object api.Object
	decode(op.Value, &object)
	if a.objects[op.Key].uid != object.Metadata.UID {
		a.objects[op.Key] = identity{uid: object.Metadata.UID, created: revision}
	}
}

func (a *archive) task(op store.Op) {
	var task api.Task
	decode(op.Value, &task)
	if _, known := a.tasks[task.ID]; known {
		return
	}
	owner := a.objects[layout.ObjectKey(task.Owner())]
	release, known := a.releases[layout.ReleaseKey(task.Owner(), task.Release)]
	a.tasks[task.ID] = taskRecord{task: task, release: release, known: known, owner: owner.uid, born: owner.created}
	if !known {
		a.w.fail("task %s (%s) was made from release %s, which the store doesn't have", task.ID, task.ContainerName(), task.Release)
	}
	if owner.uid == "" {
		a.w.fail("task %s (%s) was made for an object the store doesn't have", task.ID, task.ContainerName())
	}
}

func (a *archive) run(op store.Op) {
	var run api.Run
	decode(op.Value, &run)
	if run.Trigger != api.TriggerManual || run.State != api.RunPending || len(run.Attempts) > 0 {
		return
	}
	key := op.Key
	if _, known := a.objects[key]; !known {
		a.objects[key] = identity{uid: run.ID}
	}
}

// clone copies what is known.
func (a *archive) clone() *archive {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &archive{tasks: maps.Clone(a.tasks), releases: maps.Clone(a.releases), objects: maps.Clone(a.objects)}
}

// restore goes back to a copy. Tasks that came later stay known: their containers may still run.
func (a *archive) restore(from *archive) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releases, a.objects = maps.Clone(from.releases), maps.Clone(from.objects)
}

// of returns a task as it was made.
func (a *archive) of(id string) (taskRecord, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	record, known := a.tasks[id]
	return record, known
}

// decode reads what Tend wrote; what can't be read shows as an empty record, which no oracle accepts.
func decode(value []byte, into any) { _ = json.Unmarshal(value, into) }
