package job

import (
	"context"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// fakeAgent plays the node: it answers for images and runs containers. It works after each write, and when a container
// is due to end.
type fakeAgent struct {
	l      *harness
	done   chan struct{}
	ended  chan struct{}
	images map[string]string
	// lasts is how long containers run, code their exit code, grace how long a stop takes.
	lasts, grace time.Duration
	code         int
	cut          atomic.Bool
	// most is the most containers that ran at once.
	most      atomic.Int64
	stoppedAt map[string]time.Time
	wake      chan struct{}
	// next is the next time at which something changes without a write.
	next time.Time
}

func newFakeAgent(l *harness) *fakeAgent {
	a := &fakeAgent{
		l: l, done: make(chan struct{}), ended: make(chan struct{}), images: map[string]string{"mail:1": "sha256:1", "mail:2": "sha256:2"},
		lasts: 5 * time.Second, stoppedAt: map[string]time.Time{}, wake: make(chan struct{}, 1),
	}
	l.onChange(func(view.Change) { a.awaken() })
	go a.work()
	return a
}

func (a *fakeAgent) stop() { close(a.done); <-a.ended }

func (a *fakeAgent) work() {
	defer close(a.ended)
	for {
		a.next = time.Now().Add(time.Hour)
		if !a.cut.Load() {
			a.look()
		}
		timer := time.NewTimer(time.Until(a.next))
		select {
		case <-a.done:
			timer.Stop()
			return
		case <-timer.C:
		case <-a.wake:
			timer.Stop()
			<-time.After(10 * time.Millisecond) // what it takes to start something
		}
	}
}

func (a *fakeAgent) awaken() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// until schedules work at a time.
func (a *fakeAgent) until(at time.Time) {
	if at.Before(a.next) {
		a.next = at
	}
}

func (a *fakeAgent) look() {
	s, now := a.l.snapshot(), time.Now().UTC()
	txn := records.NewTxn("agent")
	for _, request := range s.ImageRequests() {
		a.answer(txn, s, *request.Value, now)
	}
	running := int64(0)
	for _, task := range s.Tasks() {
		if task.Value.Node == "" {
			continue
		}
		was := s.TaskStatus(task.Value.ID).Value
		next := a.advance(*task.Value, was, now)
		if next != nil && next.State == api.TaskRunning {
			running++
		}
		key := records.TaskStatusKey(task.Value.ID)
		switch {
		case next == nil && was != nil:
			txn.Delete(key)
		case next != was:
			txn.Put(key, *next)
		}
	}
	a.most.Store(max(a.most.Load(), running))
	if revision, err := txn.Commit(context.Background(), a.l.store); err == nil && revision > 0 {
		_ = a.l.view.WaitFor(context.Background(), revision)
	}
}

func (a *fakeAgent) answer(txn *records.Txn, s records.Snapshot, r api.ImageRequest, now time.Time) {
	next := api.ImageStatus{Owner: r.Owner, Node: "n1", Image: r.Image, Nonce: r.Nonce, State: api.ImagePresent, UpdatedAt: now}
	if next.ImageID = a.images[r.Image]; next.ImageID == "" {
		next.State, next.Reason, next.Message = api.ImageFailed, "ImageNotFound", "image "+r.Image+" is not in the registry"
	}
	was := s.ImageStatus("n1", r.Owner).Value
	if was == nil || was.Nonce != next.Nonce || was.Image != next.Image || was.ImageID != next.ImageID && next.State == api.ImagePresent && was.State == api.ImagePresent {
		txn.Put(records.ImageStatusKey("n1", r.Owner), next)
	}
}

// advance returns the next status of a task: the same one if nothing changes, nil if the task is gone.
func (a *fakeAgent) advance(task api.Task, was *api.TaskStatus, now time.Time) *api.TaskStatus {
	switch {
	case task.Desired == api.DesiredRemoved && (was == nil || was.State.Terminal() || a.stopped(task, now)):
		return nil
	case was != nil && was.State.Terminal():
		return was
	case task.Desired != api.DesiredRunning && was != nil && was.StartedAt.Add(a.lasts).Before(task.EndedAt):
		return a.end(task, was, api.TaskShutdown, a.code, was.StartedAt.Add(a.lasts)) // it had exited before
	case task.Desired != api.DesiredRunning && was != nil && !a.stopped(task, now):
		return was
	case task.Desired != api.DesiredRunning:
		return a.end(task, was, api.TaskShutdown, 143, now)
	case was == nil:
		return &api.TaskStatus{ID: task.ID, Node: "n1", State: api.TaskRunning, StartedAt: now, RunningAt: now, Ready: true}
	case now.Sub(was.StartedAt) < a.lasts:
		a.until(was.StartedAt.Add(a.lasts))
		return was
	case a.code == 0:
		return a.end(task, was, api.TaskComplete, 0, now)
	}
	return a.end(task, was, api.TaskFailed, a.code, now)
}

// stopped reports whether the container that is being stopped has stopped.
func (a *fakeAgent) stopped(task api.Task, now time.Time) bool {
	if a.stoppedAt[task.ID].IsZero() {
		a.stoppedAt[task.ID] = now
	}
	a.until(a.stoppedAt[task.ID].Add(a.grace))
	return now.Sub(a.stoppedAt[task.ID]) >= a.grace
}

func (a *fakeAgent) end(task api.Task, was *api.TaskStatus, state api.TaskState, code int, now time.Time) *api.TaskStatus {
	next := api.TaskStatus{ID: task.ID, Node: "n1"}
	if was != nil {
		next = *was
	}
	next.State, next.Ready, next.ExitCode, next.FinishedAt = state, false, &code, now
	if state == api.TaskFailed {
		next.Reason, next.Message, next.LastLog = "Exited", "the container ended with exit code 7", []string{"no route to host"}
	}
	return &next
}
