package agent_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

// removedTask runs a task that prints a line, has its container removed by an engine that takes that long to return
// output, and calls then.
func removedTask(t *testing.T, outputDelay time.Duration, then func(*harness, api.Task)) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
			return hollow.Behaviour{Output: []string{"listening"}}
		}})
		l.kept = t.TempDir()
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), func(task *api.Task, _ *api.DeploymentSpec) { task.OwnerUID = "uid-1" })
		object := api.Object{Kind: task.Kind, Scope: task.Scope, Name: task.Name, Spec: []byte(`{"image":"a"}`),
			Metadata: api.Metadata{UID: "uid-1"}}
		l.commit(records.NewTxn("test").Put(records.ObjectKey(task.Owner()), object))
		l.settle()
		l.wantContainer(task, runtime.StateRunning)
		l.outputDelay.Store(int64(outputDelay))
		l.raise(task, api.DesiredRemoved)
		l.pass(time.Second)
		then(l, task)
	})
}

// keptText returns what is kept of an owner's containers.
func (l *harness) keptText(owner api.Ref) (out []string) {
	l.t.Helper()
	kept, err := l.agent.KeptLogs(l.t.Context(), owner)
	l.must(err)
	for _, log := range kept {
		reader, err := l.agent.KeptLog(l.t.Context(), log.Container, runtime.LogOptions{Tail: -1})
		l.must(err)
		for {
			line, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			l.must(err)
			out = append(out, log.Pod()+": "+line.Text)
		}
	}
	return out
}

func (l *harness) wantKept(task api.Task, want ...string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.keptText(task.Owner())); diff != "" {
		l.t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func (l *harness) wantContainers(n int) {
	l.t.Helper()
	listed, err := l.engine.Client(cluster, nodeID).List(l.t.Context())
	l.must(err)
	if len(listed) != n {
		l.t.Errorf("%d containers, want %d", len(listed), n)
	}
}

// TestRemovedContainerLeavesItsLog until its object is deleted.
func TestRemovedContainerLeavesItsLog(t *testing.T) {
	removedTask(t, 0, func(l *harness, task api.Task) {
		l.wantContainers(0)
		l.wantKept(task, task.ContainerName()+": listening")
		l.pass(time.Hour)
		l.wantKept(task, task.ContainerName()+": listening")
		l.commit(records.NewTxn("test").Delete(records.ObjectKey(task.Owner())))
		l.pass(time.Minute + time.Second)
		l.wantKept(task)
		if left, err := os.ReadDir(l.kept); err != nil || len(left) != 0 {
			t.Errorf("left after the deletion: %v, %v", left, err)
		}
	})
}

// TestKeptLogsStayWhileTheAgentIsHeld: after a restore the store may lack an object that comes back.
func TestKeptLogsStayWhileTheAgentIsHeld(t *testing.T) {
	removedTask(t, 0, func(l *harness, task api.Task) {
		l.stop()
		l.commit(records.NewTxn("test").Delete(records.ObjectKey(task.Owner())))
		l.hold = make(chan struct{})
		l.start()
		l.pass(time.Hour)
		l.wantKept(task, task.ContainerName()+": listening")
		close(l.hold)
		l.pass(time.Minute + time.Second)
		l.wantKept(task)
	})
}

// TestRemovalDoesNotWaitForALog: an engine that doesn't return the output delays the removal by a bounded time.
func TestRemovalDoesNotWaitForALog(t *testing.T) {
	removedTask(t, time.Hour, func(l *harness, task api.Task) {
		l.wantContainers(1)
		l.pass(10 * time.Second)
		l.wantContainers(0)
		l.wantKept(task)
	})
}

// TestManyRemovalsDoNotWaitForEachOther: they don't add up where the engine returns no output.
func TestManyRemovalsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
			return hollow.Behaviour{Output: []string{"listening"}}
		}})
		l.kept = t.TempDir()
		l.start()
		defer l.close()
		var tasks []api.Task
		for i := range 100 {
			tasks = append(tasks, l.deploy(taskID(i+1), func(task *api.Task, _ *api.DeploymentSpec) { task.OwnerUID = "uid-1" }))
		}
		l.pass(time.Second)
		l.outputDelay.Store(int64(time.Hour))
		for _, task := range tasks {
			l.raise(task, api.DesiredRemoved)
		}
		l.pass(25 * time.Second)
		l.wantContainers(0)
	})
}

// TestCrashBeforeARemoval: the agent ends while it reads the log, and after it has; the next one removes the container
// and keeps its log once.
func TestCrashBeforeARemoval(t *testing.T) {
	removedTask(t, 3*time.Second, func(l *harness, task api.Task) {
		l.wantContainers(1)
		l.stop()
		l.start()
		l.pass(4 * time.Second)
		l.wantContainers(0)
		l.wantKept(task, task.ContainerName()+": listening")
	})
}

// TestLogsThatAreNotKept: what goes with its object. The reason is the planner's.
func TestLogsThatAreNotKept(t *testing.T) {
	for name, ordered := range map[string]bool{"a deployment": false, "a statefulset": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t, hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
					return hollow.Behaviour{Output: []string{"listening"}}
				}})
				l.kept = t.TempDir()
				l.start()
				defer l.close()
				task := l.deploy(taskID(1), func(task *api.Task, _ *api.DeploymentSpec) { task.OwnerUID = "uid-1" })
				l.settle()
				slot := rollout.Slot{ID: "0", Task: task.ID, Placed: true, Desired: api.DesiredRunning, State: api.TaskRunning,
					CreatedAt: task.CreatedAt}
				plan := rollout.Decide(rollout.Desired{Deleting: true, Ordered: ordered}, []rollout.Slot{slot}, time.Now())
				if len(plan.Actions) != 1 || plan.Actions[0].Verb != rollout.Shutdown {
					t.Fatalf("the plan is %v", plan.Actions)
				}
				l.commit(records.NewTxn("test").RaiseTask(l.snapshot().Task(task.ID), api.DesiredShutdown,
					plan.Actions[0].Reason, time.Now()))
				l.settle()
				l.raise(task, api.DesiredRemoved)
				l.pass(time.Second)
				l.wantContainers(0)
				l.wantKept(task)
			})
		})
	}
}
