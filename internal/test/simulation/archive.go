package simulation

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// archive records every commit about tasks, with the release from which each task was made.
type archive struct {
	w        *World
	mu       sync.Mutex
	tasks    map[string]taskRecord
	releases map[string]api.Release // by key: the newest under it
	objects  map[string]identity    // by key
	last     map[api.Ref]time.Time  // when a run was last made because it was due
	nodes    map[string]string      // by task
	leases   map[store.LeaseID]string
	renewed  map[store.LeaseID]time.Time
	beats    map[string]time.Time // by node: the last heartbeat
	given    map[string]bool      // runs that were given up with their node, by key
	runs     int                  // made by hand
	said     said
}

// identity is which object of a name there is.
type identity struct {
	uid     string
	created int64
	// exclusive is set if the newest manifest forbids overlapping runs.
	exclusive bool
}

// taskRecord is a task as it was made.
type taskRecord struct {
	task    api.Task
	release api.Release
	known   bool // the release was in the store
	owner   string
	// exclusive is set if the run must not overlap with another one.
	exclusive bool
	// silent holds the nodes that could count as lost, or that a person confirmed as down, when the task was made.
	silent map[string]bool
}

func newArchive(w *World) *archive {
	return &archive{w: w, tasks: map[string]taskRecord{}, releases: map[string]api.Release{},
		objects: map[string]identity{}, last: map[api.Ref]time.Time{},
		nodes: map[string]string{}, leases: map[store.LeaseID]string{}, renewed: map[store.LeaseID]time.Time{},
		beats: map[string]time.Time{}, given: map[string]bool{},
		said: said{off: map[string]bool{}, wrong: map[string]time.Time{}}}
}

// commit applies a transaction by apply, and records it. No one reads in between: an agent may act on the commit before
// its writer has the answer.
func (a *archive) commit(txn store.Txn, apply func() (int64, error)) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	revision, err := apply()
	if err == nil {
		a.applied(txn, revision)
	}
	return revision, err
}

func (a *archive) applied(txn store.Txn, revision int64) {
	a.said.commit(a.w, txn)
	a.w.knowsNoOutsider(txn)
	for _, op := range txn.Do { // first the records that tasks refer to
		switch {
		case strings.HasPrefix(op.Key, records.ReleasesPrefix):
			a.release(op, revision)
		case strings.HasPrefix(op.Key, records.DesiredPrefix):
			a.object(op, revision)
		}
	}
	for _, op := range txn.Do {
		switch {
		case op.Delete:
		case strings.HasPrefix(op.Key, records.AlivePrefix):
			node, beat := strings.TrimPrefix(op.Key, records.AlivePrefix), records.HeartbeatOf(op.Value)
			if !beat.Beats() {
				continue // it says that beats are missing
			}
			a.leases[op.Lease] = node
			if at := a.renewed[op.Lease]; at.After(a.beats[node]) { // the commit may be late
				a.beats[node] = at
			}
		case strings.HasPrefix(op.Key, records.TasksPrefix):
			a.task(op)
		case strings.HasPrefix(op.Key, records.RunsPrefix):
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
	known := a.objects[op.Key]
	if known.uid != object.Metadata.UID {
		known = identity{uid: object.Metadata.UID, created: revision}
	}
	var spec api.CronJobSpec
	decode(object.Spec, &spec)
	known.exclusive = spec.ConcurrencyPolicy == api.ConcurrencyForbid || spec.ConcurrencyPolicy == api.ConcurrencyReplace
	a.objects[op.Key] = known
}

func (a *archive) task(op store.Op) {
	var task api.Task
	decode(op.Value, &task)
	a.nodes[task.ID] = task.Node
	if before, known := a.tasks[task.ID]; known {
		a.fits(before, task)
		a.stays(task)
		return
	}
	owner := a.objects[records.ObjectKey(task.Owner())]
	release, known := a.releases[records.ReleaseKey(task.Owner(), task.Release)]
	a.tasks[task.ID] = taskRecord{task: task, release: release, known: known, owner: owner.uid, exclusive: owner.exclusive,
		silent: a.silentNodes()}
	if !known {
		a.w.fail("task %s (%s) was made from release %s, which the store doesn't have", task.ID,
			task.ContainerName(), task.Release)
	}
	if owner.uid == "" {
		a.w.fail("task %s (%s) was made for an object the store doesn't have", task.ID, task.ContainerName())
	}
}

// stays reports a pod that is given up because of its silent node although no other node could take its place, or too
// early.
func (a *archive) stays(task api.Task) {
	if task.Class != api.ClassKeep || task.Reason != api.ReasonNodeLost || task.Desired != api.DesiredShutdown {
		return
	}
	if !a.w.several() {
		a.w.fail("pod %s was given up for its node, and there is no other", task.ContainerName())
	}
	a.late("pod "+task.ContainerName(), task.ID, task.After) // it may wait for a lost one
}

// late: a pod is given up with its node only after the node was silent for the declared time.
func (a *archive) late(what string, tasks ...string) {
	for _, task := range tasks {
		if node := a.nodes[task]; node != "" && a.silent(node) {
			return
		}
	}
	node := a.nodes[tasks[0]]
	a.w.fail("%s was given up for lost %s after the last heartbeat of node %s, %s after the controllers were claimed",
		what, time.Since(a.beats[node]),
		node, time.Since(a.w.terms.began()))
}

func (a *archive) silent(node string) bool {
	return time.Since(a.beats[node]) >= nodeTimeout-time.Second && !a.hasty(node)
}

func (a *archive) silentNodes() map[string]bool {
	out := map[string]bool{}
	for node := range a.beats {
		out[node] = a.silent(node) || a.said.off[node]
	}
	return out
}

// mayOverlap reports whether a run was made while the node of another run was silent: that run is stopped when its node
// returns.
func (a *archive) mayOverlap(other, made string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	node := a.nodes[other]
	return node != a.nodes[made] && a.tasks[made].silent[node]
}

// lost: a run is given up as lost only with its node.
func (a *archive) lost(what, task string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late(what, task)
}

// hasty: a server that takes over the controllers while a node is silent waits for the full declared time before it
// gives up the node's pods.
func (a *archive) hasty(node string) bool {
	began := a.w.terms.began()
	return a.w.shared() && began.Sub(a.beats[node]) >= nodeTimeout && time.Since(began) < nodeTimeout-time.Second
}

// grant records a new lease. Another store may have had a lease with that number.
func (a *archive) grant(lease store.LeaseID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.leases, lease)
	a.renewed[lease] = time.Now()
}

// beat notes that a lease was renewed.
func (a *archive) beat(lease store.LeaseID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renewed[lease] = time.Now()
	if node := a.leases[lease]; node != "" {
		a.beats[node] = time.Now()
	}
}

func (a *archive) run(op store.Op) {
	var run api.Run
	decode(op.Value, &run)
	if run.Reason == api.ReasonNodeLost && !a.given[op.Key] {
		a.given[op.Key] = true
		for _, attempt := range run.Attempts[max(0, len(run.Attempts)-1):] {
			a.late("run "+run.ID, attempt.Task)
		}
	}
	if run.Trigger == api.TriggerSchedule && !run.State.Ended() {
		a.last[run.Owner()] = time.Now()
	}
	if run.Trigger != api.TriggerManual || run.State != api.RunPending || len(run.Attempts) > 0 {
		return
	}
	key := op.Key
	if _, known := a.objects[key]; !known {
		a.objects[key] = identity{uid: run.ID}
		a.runs++
	}
}

// nodeTimeout is the time for which a node may be silent.
const nodeTimeout = 30 * time.Second

// scheduledSince reports whether a run of a cron job was made since.
func (a *archive) scheduledSince(ref api.Ref, since time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[ref].After(since)
}

// clone returns a copy of the archive.
func (a *archive) clone() *archive {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &archive{tasks: maps.Clone(a.tasks), releases: maps.Clone(a.releases), objects: maps.Clone(a.objects),
		nodes: maps.Clone(a.nodes)}
}

// restore replaces the archive by a copy. Later tasks stay known: their containers may still run.
func (a *archive) restore(from *archive) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releases, a.objects = maps.Clone(from.releases), maps.Clone(from.objects)
}

// nodeOf returns the node of a task, if it has got one.
func (a *archive) nodeOf(task string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes[task]
}

// of returns a task as it was made.
func (a *archive) of(id string) (taskRecord, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	record, known := a.tasks[id]
	return record, known
}

func (a *archive) manualRuns() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs
}

// decode decodes a record of Tend's; an invalid one becomes an empty record, which no oracle accepts.
func decode(value []byte, into any) { _ = json.Unmarshal(value, into) }
