package agent_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// TestPredecessorEndsWhileItIsRead: the predecessor ends after its successor was read, and before the successor
// registered to be woken. That end is noticed at once, not only by the next full list.
func TestPredecessorEndsWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		before := l.deploy(taskID(1), nil)
		var once sync.Once
		l.reading = func(task string) {
			if task != taskID(2) {
				return
			}
			once.Do(func() {
				l.end(before)
				l.deaf.Store(true) // no event of its own container makes up for it
			})
		}
		l.start()
		defer l.close()
		l.want(before, api.TaskRunning, true, "")
		after := l.deploy(taskID(2), func(task *api.Task, _ *api.DeploymentSpec) { task.After = before.ID })
		l.pass(time.Second)
		l.wantContainer(before, "")
		l.wantContainer(after, runtime.StateRunning)
	})
}

// TestListenersOpenWhileHeld: an agent that may touch no container yet serves what runs, from its start on.
func TestListenersOpenWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.edge = newGate()
		l.route(api.DeploymentSpec{Container: api.Container{Image: image}})
		l.start()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.want(task, api.TaskRunning, true, "")
		l.stop()
		l.edge, l.hold = newGate(), make(chan struct{})
		l.start()
		defer l.close()
		l.pass(time.Second)
		if !l.edge.serves(task.ContainerName()) {
			t.Error("a second after its start it serves nothing")
		}
	})
}

// end takes a task to its end and forgets it, with the pauses that its agent needs for each step.
func (l *harness) end(task api.Task) {
	for _, desired := range []api.DesiredState{api.DesiredShutdown, api.DesiredRemoved} {
		l.commit(records.NewTxn("test").RaiseTask(l.snapshot().Task(task.ID), desired, "test", time.Now()))
		time.Sleep(50 * time.Millisecond)
	}
	l.commit(records.NewTxn("test").Delete(records.TaskKey(task.ID)).Delete(records.SlotKey(task.Owner(), task.Slot)))
	time.Sleep(50 * time.Millisecond)
}
