package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

func TestShutdownKeepsTheContainerAndRemovalTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{StopDelay: hollow.Delay(3 * time.Second)})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.raise(task, api.DesiredShutdown)
		l.want(task, api.TaskRunning, false, "Stopping")
		l.pass(4 * time.Second)
		l.want(task, api.TaskShutdown, false, "Shutdown")
		l.wantContainer(task, runtime.StateExited)
		if status := l.status(task); status.ExitCode == nil || *status.ExitCode != 0 || status.FinishedAt.IsZero() {
			t.Errorf("the status of a shut down task lacks how it ended: %+v", status)
		}
		l.raise(task, api.DesiredRemoved)
		l.wantContainer(task, "")
		if status := l.status(task); status.ID != "" {
			t.Errorf("the observed half stays: %+v", status)
		}
	})
}

func TestRemovalWhileTheAgentWasDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer func() { l.close() }()
		task := l.deploy(taskID(1), nil)
		l.settle()
		snap := l.snapshot()
		l.stop()
		l.wantContainer(task, runtime.StateRunning)
		l.commit(records.NewTxn("test").RaiseTask(snap.Task(task.ID), api.DesiredRemoved, "test", time.Now()))
		l.start()
		l.wantContainer(task, "")
	})
}

func TestStopsHoldNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
			return hollow.Behaviour{IgnoresStop: true}
		}})
		l.start()
		defer l.close()
		var old []api.Task
		for i := range 20 { // more than there are workers
			old = append(old, l.deploy(taskID(i), nil))
		}
		l.settle()
		for _, task := range old {
			l.raise(task, api.DesiredShutdown)
		}
		fresh := l.deploy(taskID(100), nil)
		l.settle()
		l.want(fresh, api.TaskRunning, true, "")
		l.pass(11 * time.Second)
		for _, task := range old {
			l.want(task, api.TaskShutdown, false, "Shutdown")
		}
	})
}

func TestCrashLoopIsReportedAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
			return hollow.Behaviour{Exits: true, ExitAfter: time.Second, ExitCode: 3, Output: []string{"cannot open /data"}}
		}})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.pass(4 * time.Second)
		if status := l.status(task); !status.CrashLoop || len(status.LastLog) == 0 ||
			status.LastLog[0] != "cannot open /data" {
			t.Errorf("after 3 ends: %+v", status)
		}
		l.pass(10 * time.Second)
		l.want(task, api.TaskFailed, false, "CrashLoop")
		l.wantContainer(task, runtime.StateExited)
		status := l.status(task)
		if len(status.Exits) != 5 || status.ExitCode == nil || *status.ExitCode != 3 || len(status.LastLog) == 0 {
			t.Errorf("the status of a task that was given up lacks why: %+v", status)
		}
	})
}

func TestRejections(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    hollow.Behaviour
		word   string
	}{
		"create": {"a mount that isn't there",
			hollow.Behaviour{CreateError: &runtime.RejectedError{Reason: "InvalidMount", Detail: "no /x"}}, "InvalidMount"},
		"start": {"a port that is taken",
			hollow.Behaviour{StartError: &runtime.RejectedError{Reason: "PortTaken", Detail: "8080 is taken"}}, "PortTaken"},
		"name": {"a name that another container holds", hollow.Behaviour{CreateError: runtime.ErrNameTaken}, "NameTaken"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t, hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour { return tc.err }})
				l.start()
				defer l.close()
				task := l.deploy(taskID(1), nil)
				l.settle()
				l.want(task, api.TaskRejected, false, tc.word)
				if l.status(task).Message == "" {
					t.Errorf("%s: no message", tc.reason)
				}
			})
		})
	}
}

func TestTransientFaultIsReportedAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		left := 2
		l.engine.Before(func(verb, _ string) error {
			if verb == "create" && left > 0 {
				left--
				return errors.New("the disk is slow today")
			}
			return nil
		})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.want(task, api.TaskPreparing, false, "EngineError")
		l.pass(10 * time.Second)
		l.want(task, api.TaskRunning, true, "")
	})
}

func TestReleaseThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := api.Task{ID: "t", Kind: api.KindDeployment, Scope: "shop", Name: "web", Slot: "t", Release: "v9",
			Class: api.ClassKeep, Node: nodeID, Desired: api.DesiredRunning}
		l.commit(records.NewTxn("test").CreateTask(task))
		l.settle()
		l.want(task, api.TaskRejected, false, "ReleaseGone")
	})
}

func TestJobEndsAsItsContainerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), func(task *api.Task, _ *api.DeploymentSpec) { task.Class = api.ClassOnce })
		l.settle()
		if c := l.wantContainer(task, runtime.StateRunning); c.Restart != "no" {
			t.Errorf("restart policy %q, want no", c.Restart)
		}
		l.must(l.engine.StopByHand(task.ContainerName()))
		l.settle()
		l.want(task, api.TaskComplete, false, "Exited")
	})
}

func TestSuccessorWaitsForItsPredecessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{StopDelay: hollow.Delay(2 * time.Second)})
		l.start()
		defer l.close()
		old := l.deploy(taskID(1), nil)
		l.settle()
		next := l.deploy(taskID(2), func(task *api.Task, _ *api.DeploymentSpec) { task.After = old.ID })
		l.settle()
		l.want(next, api.TaskPreparing, false, "WaitingForPredecessor")
		l.wantContainer(next, runtime.StateCreated)
		l.raise(old, api.DesiredShutdown)
		l.pass(time.Second)
		l.wantContainer(next, runtime.StateCreated)
		l.pass(time.Second)
		l.wantContainer(old, runtime.StateExited)
		l.wantContainer(next, runtime.StateRunning)
		l.want(next, api.TaskRunning, true, "")
		overlap(t, l.engine.History(), old.ContainerName(), next.ContainerName())
	})
}

// overlap fails if the second container started before the first had ended.
func overlap(t *testing.T, history []hollow.Record, first, second string) {
	t.Helper()
	ended := false
	for _, record := range history {
		if record.Container == first && record.Event == runtime.EventDie {
			ended = true
		}
		if record.Container == second && record.Event == runtime.EventStart && !ended {
			t.Errorf("%s started before %s had stopped", second, first)
		}
	}
}
