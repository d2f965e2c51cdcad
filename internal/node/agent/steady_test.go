package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

func monitored(task *api.Task, _ *api.DeploymentSpec) { task.Monitor = "5s" }

// TestSteadyIsReportedOnce: a container that keeps running is inspected once after the monitor time, reported, and left
// alone.
func TestSteadyIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), monitored)
		l.pass(4 * time.Second)
		if l.status(task).Steady {
			t.Error("steady before the monitor time")
		}
		l.store.reports()
		l.pass(2 * time.Second)
		if !l.status(task).Steady {
			t.Errorf("not steady after it: %+v", l.status(task))
		}
		l.pass(time.Hour)
		if n := len(l.store.reports()); n != 1 {
			t.Errorf("%d reports, want one", n)
		}
	})
}

// TestCrashWithoutAnEvent: the engine reports no end within the monitor time; the inspection after it finds it.
func TestCrashWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
			return hollow.Behaviour{Exits: true, ExitAfter: 3 * time.Second, ExitCode: 3}
		}})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), monitored)
		l.settle()
		l.deaf.Store(true)
		began := l.status(task).StartedAt
		l.pass(4 * time.Second)
		l.want(task, api.TaskRunning, true, "") // not known otherwise yet
		l.pass(2 * time.Second)
		if status := l.status(task); status.Steady || status.StartedAt.Equal(began) || len(status.Exits) == 0 {
			t.Errorf("it ended after 3 s: %+v", status)
		}
	})
}
