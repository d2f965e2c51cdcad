package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// failing is an engine whose containers exit with 3 after a second and print why.
func failing(runtime.ContainerSpec) hollow.Behaviour {
	return hollow.Behaviour{Exits: true, ExitAfter: time.Second, ExitCode: 3, Output: []string{"cannot open /data"}}
}

func once(task *api.Task, _ *api.DeploymentSpec) { task.Class = api.ClassOnce }

// failedTask runs a task that fails, on an engine that takes that long to return output, until it has ended.
func failedTask(t *testing.T, outputDelay time.Duration, then func(*harness, api.Task)) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{Behaviour: failing})
		l.outputDelay.Store(int64(outputDelay))
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), once)
		l.pass(1100 * time.Millisecond)
		then(l, task)
	})
}

func (l *harness) wantLines(task api.Task, n int) {
	l.t.Helper()
	if got := l.status(task).LastLog; len(got) != n {
		l.t.Errorf("task %s has %d last lines, want %d", task.ID, len(got), n)
	}
}

// TestFailureIsReportedWithItsLines: the lines come a moment after the end, and the end is reported with them.
func TestFailureIsReportedWithItsLines(t *testing.T) {
	failedTask(t, 3*time.Second, func(l *harness, task api.Task) {
		l.want(task, api.TaskRunning, false, "Exited")
		l.pass(3 * time.Second)
		l.want(task, api.TaskFailed, false, "Exited")
		l.wantLines(task, 1)
	})
}

// TestAFailureSaysWhy in words, with the exit code.
func TestAFailureSaysWhy(t *testing.T) {
	failedTask(t, 0, func(l *harness, task api.Task) {
		l.want(task, api.TaskFailed, false, "Exited")
		if got := l.status(task); got.Message != "the container ended with exit code 3" ||
			got.ExitCode == nil || *got.ExitCode != 3 {
			t.Errorf("%q, exit code %v", got.Message, got.ExitCode)
		}
	})
}

// TestFailureIsReportedWithoutItsLines: the wait for the lines is bounded, and they follow.
func TestFailureIsReportedWithoutItsLines(t *testing.T) {
	failedTask(t, 15*time.Second, func(l *harness, task api.Task) {
		l.pass(9 * time.Second)
		l.want(task, api.TaskRunning, false, "Exited")
		l.pass(time.Second)
		l.want(task, api.TaskFailed, false, "Exited")
		l.wantLines(task, 0)
		l.pass(5 * time.Second)
		l.want(task, api.TaskFailed, false, "Exited")
		l.wantLines(task, 1)
	})
}

// TestOutputThatNeverComes: it is given up, and not requested again.
func TestOutputThatNeverComes(t *testing.T) {
	failedTask(t, time.Hour, func(l *harness, task api.Task) {
		l.pass(time.Minute)
		l.want(task, api.TaskFailed, false, "Exited")
		l.store.reports()
		l.pass(time.Hour)
		if n := len(l.store.reports()); n != 0 {
			t.Errorf("%d reports of it in an hour", n)
		}
	})
}

// TestLastLinesHoldNoWorker: more failures than there are workers wait for their lines, and a task is started
// meanwhile.
func TestLastLinesHoldNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{Behaviour: failing})
		l.outputDelay.Store(int64(4 * time.Second))
		l.start()
		defer l.close()
		var broken []api.Task
		for i := range 20 {
			broken = append(broken, l.deploy(taskID(i), once))
		}
		l.pass(1100 * time.Millisecond)
		l.engine.Behave(nil)
		fresh := l.deploy(taskID(100), nil)
		l.settle()
		l.want(fresh, api.TaskRunning, true, "")
		l.pass(13 * time.Second)
		for _, task := range broken {
			l.want(task, api.TaskFailed, false, "Exited")
			l.wantLines(task, 1)
		}
	})
}

// TestLinesAreReadAfterARestart: an agent stops while it reads the lines. The next agent reports the end, with its
// lines.
func TestLinesAreReadAfterARestart(t *testing.T) {
	failedTask(t, 3*time.Second, func(l *harness, task api.Task) {
		l.stop()
		l.start()
		l.want(task, api.TaskRunning, false, "Exited")
		l.pass(3 * time.Second)
		l.want(task, api.TaskFailed, false, "Exited")
		l.wantLines(task, 1)
	})
}

// TestLinesAreReadWhenTheEngineIsBack: the engine went away while the lines were read; when it is back they are read
// again.
func TestLinesAreReadWhenTheEngineIsBack(t *testing.T) {
	failedTask(t, 3*time.Second, func(l *harness, task api.Task) {
		l.engine.Disconnect()
		l.pass(4 * time.Second)
		l.want(task, api.TaskRunning, false, "EngineUnavailable")
		l.engine.Reconnect()
		l.pass(9 * time.Second)
		l.want(task, api.TaskFailed, false, "Exited")
		l.wantLines(task, 1)
	})
}
