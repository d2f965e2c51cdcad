package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// TestRunsOnceOnlyWhenRecorded: while nothing can be reported, a command that runs once is not started: after a crash
// of the server there would be no record of it. Its container may be removed and created again.
func TestRunsOnceOnlyWhenRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer func() { l.close() }()
		l.store.failing(errors.New("no space"))
		task := l.deploy(taskID(1), once)
		l.pass(time.Minute)
		l.wantContainer(task, runtime.StateCreated)
		l.must(l.engine.RemoveByHand(task.ContainerName()))
		l.stop()
		l.start() // nothing is stored of the task
		l.pass(time.Minute)
		l.wantContainer(task, runtime.StateCreated)

		l.store.failing(nil)
		l.pass(10 * time.Second)
		c := l.wantContainer(task, runtime.StateRunning)
		if status := l.status(task); status.Container != c.ID {
			t.Fatalf("%s runs, and %q is recorded", c.ID, status.Container)
		}
		l.store.failing(errors.New("no space"))
		l.must(l.engine.RemoveByHand(task.ContainerName()))
		l.stop()
		l.store.failing(nil)
		l.start()
		l.pass(time.Minute)
		l.want(task, api.TaskFailed, false, "ContainerRemoved")
		if c := l.container(task); c.ID != "" {
			t.Fatalf("it was made again, as %s, and is %s", c.ID, c.State)
		}
	})
}
