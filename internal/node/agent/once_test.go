package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
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

// TestExclusiveRunWaits: a node that comes back finds a run that was stopped while it was silent, and the next one for
// it. They don't overlap if they may not, and a run's next attempt waits for the one before in any case.
func TestExclusiveRunWaits(t *testing.T) {
	for name, c := range map[string]struct {
		run              string
		exclusive, waits bool
	}{
		"of another run": {"r2", false, false}, "of another run, exclusive": {"r2", true, true},
		"of the same run": {"r1", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t, hollow.Options{StopDelay: hollow.Delay(2 * time.Second)})
				l.start()
				defer func() { l.close() }()
				ofRun := func(run string, exclusive bool) func(*api.Task, *api.DeploymentSpec) {
					return func(task *api.Task, spec *api.DeploymentSpec) {
						once(task, spec)
						task.Run, task.Exclusive = run, exclusive
					}
				}
				old := l.deploy(taskID(1), ofRun("r1", c.exclusive))
				l.settle()
				l.wantContainer(old, runtime.StateRunning)
				l.stop()
				l.raise(old, api.DesiredShutdown)
				next := l.deploy(taskID(2), ofRun(c.run, c.exclusive))
				l.start()
				l.pass(time.Second)
				want := runtime.StateRunning
				if c.waits {
					want = runtime.StateCreated
				}
				l.wantContainer(next, want)
				l.pass(2 * time.Second)
				l.wantContainer(old, runtime.StateExited)
				l.wantContainer(next, runtime.StateRunning)
				if c.waits {
					overlap(t, l.engine.History(), old.ContainerName(), next.ContainerName())
				}
			})
		})
	}
}
