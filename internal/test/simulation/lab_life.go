package simulation

import (
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// labs are the lives of all labs there were, by uid.
type labs struct {
	w     *World
	mu    sync.Mutex
	lives map[string]*labLife
	// uids are the labs there are now, by key.
	uids map[string]string
}

// labLife records the life of one lab: what was declared and requested, and what its containers did.
type labLife struct {
	ref      api.Ref
	uid      string
	declared []labVersion
	orders   api.LabOrders
	phase    api.LabPhase
	gone     bool
	// made and placed are the times at which its newest task was made and got a node.
	made, placed time.Time
	// started and ended are the times of its container, or zero; code is its exit code.
	started, ended time.Time
	pod, container string // the pod's name and the engine's id
	code           int
	// before is set if the lab ran before a store was restored, spent if it must not run again until people request it.
	// start is its start time in the restored store.
	before, spent bool
	start         time.Time
	generation    int64
}

// labVersion is a manifest, and since when the store has had it.
type labVersion struct {
	since time.Time
	spec  api.LabSpec
}

func newLabs(w *World) *labs {
	return &labs{w: w, lives: map[string]*labLife{}, uids: map[string]string{}}
}

// commit records a transaction that was applied.
func (l *labs) commit(txn store.Txn) {
	if !l.w.labWorld() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, op := range txn.Do {
		if strings.HasPrefix(op.Key, records.DesiredPrefix+string(api.KindLab)+"/") {
			l.declare(op)
		}
	}
	for _, op := range txn.Do {
		switch {
		case op.Delete:
		case strings.HasPrefix(op.Key, records.LabsPrefix):
			l.ordered(op)
		case strings.HasPrefix(op.Key, records.TasksPrefix):
			l.task(op)
		}
	}
	for _, op := range txn.Do {
		if strings.HasPrefix(op.Key, records.StatusPrefix+string(api.KindLab)+"/") && !op.Delete {
			l.said(op)
		}
	}
}

func (l *labs) declare(op store.Op) {
	if life := l.lives[l.uids[op.Key]]; op.Delete && life != nil {
		life.gone = true
		delete(l.uids, op.Key)
	}
	if op.Delete {
		return
	}
	var object api.Object
	var version labVersion
	decode(op.Value, &object)
	decode(object.Spec, &version.spec)
	life := l.lives[object.Metadata.UID]
	if life == nil {
		life = &labLife{ref: object.Ref(), uid: object.Metadata.UID}
		l.lives[life.uid] = life
	}
	l.uids[op.Key] = life.uid
	version.since, life.gone = time.Now(), false
	life.declared = append(life.declared, version)
	life.spent = life.spent && life.generation == object.Metadata.Generation
	life.generation = object.Metadata.Generation
}

func (l *labs) ordered(op store.Op) {
	var orders api.LabOrders
	decode(op.Value, &orders)
	if life := l.lives[orders.OwnerUID]; life != nil {
		life.orders = orders
	}
}

func (l *labs) task(op store.Op) {
	var task api.Task
	decode(op.Value, &task)
	life := l.lives[task.OwnerUID]
	switch {
	case task.Kind != api.KindLab || life == nil || task.Desired != api.DesiredRunning:
	case task.Node == "":
		life.made, life.placed = time.Now(), time.Time{}
	default:
		life.placed = time.Now()
	}
}

// began: a lab runs once, and not before its start.
func (l *labs) began(uid string, record hollow.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	life, container := l.lives[uid], record.Container
	switch now := time.Now(); {
	case life == nil:
		return
	case !life.started.IsZero():
		l.w.fail("%s starts, although %s ran in %s %s ago", container, life.ref, life.pod, now.Sub(life.started))
	case life.spent:
		l.w.fail("%s starts, although %s ran before the store was restored", container, life.ref)
	case l.w.rightSince(life.placed.Add(-lateCommit)) && life.earliest().After(l.w.now()):
		l.w.fail("%s starts at %s, although %s begins at %s", container, l.w.now().UTC(), life.ref, life.earliest())
	}
	life.started, life.pod, life.container, life.ended, life.code = time.Now(), container, record.ID, time.Time{}, 0
}

// lateCommit exceeds the time that any commit takes until it is applied.
const lateCommit = 2 * time.Minute

// earliest returns the first start that was declared when its container got a node, or shortly before.
func (life *labLife) earliest() time.Time {
	var out time.Time
	for i, version := range life.declared {
		next := i + 1
		if next < len(life.declared) && life.declared[next].since.Before(life.placed.Add(-lateCommit)) {
			continue // it was replaced long before
		}
		if version.since.After(life.placed) {
			break
		}
		start := version.spec.StartsAt()
		if start.IsZero() {
			return start // at once
		}
		if out.IsZero() || start.Before(out) {
			out = start
		}
	}
	return out
}

// died records the end of a lab's container.
func (l *labs) died(uid string, record hollow.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if life := l.lives[uid]; life != nil && life.container == record.ID {
		life.ended, life.code = time.Now(), record.ExitCode
	}
}

// restored resets the labs to the state of a restored store. Labs that ran since the copy must not run again if their
// start has passed by now.
func (l *labs) restored() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uids = map[string]string{}
	for _, life := range l.lives {
		life.gone, life.phase, life.orders = true, restoredPhase, api.LabOrders{}
	}
	for _, object := range l.w.declaredObjects() {
		life := l.lives[object.Metadata.UID]
		if life == nil {
			continue
		}
		l.uids[records.ObjectKey(object.Ref())] = life.uid
		var spec api.LabSpec
		decode(object.Spec, &spec)
		life.before = life.before || !life.started.IsZero()
		life.gone, life.phase, life.generation = false, restoredPhase, object.Metadata.Generation
		life.start = spec.StartsAt()
		life.spent = life.before && !life.start.After(l.w.now())
		life.declared = slices.DeleteFunc(life.declared, func(v labVersion) bool { return v.since.After(l.w.copied.at) })
		life.started, life.ended = time.Time{}, time.Time{}
	}
}

// resumed keeps the start of labs that, by the clock at the resume, begin later.
func (l *labs) resumed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, life := range l.lives {
		life.spent = life.spent && !life.start.After(l.w.now())
	}
}

// restoredPhase is the unknown phase of a lab in a restored store; the next status determines it.
const restoredPhase api.LabPhase = "RESTORED"

// rightSince reports whether the wall clock has been right since then.
func (w *World) rightSince(then time.Time) bool {
	set := time.Duration(w.clockSet.Load())
	return w.skew.Load() == 0 && (set == 0 || w.began.Add(set).Before(then))
}
