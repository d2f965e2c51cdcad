package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

func TestTaskRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.want(task, api.TaskRunning, true, "")
		c := l.wantContainer(task, runtime.StateRunning)
		status := l.status(task)
		if status.Container != c.ID || status.Incarnations != 1 || status.RunningAt.IsZero() || status.ReadyAt.IsZero() {
			t.Errorf("status %+v", status)
		}
		if c.Labels[api.LabelTask] != task.ID || c.Labels[api.LabelCluster] != cluster ||
			c.Labels[api.LabelRelease] != task.Release {
			t.Errorf("labels %v", c.Labels)
		}
	})
}

// afterwards is the expected state a second after an event.
type afterwards struct {
	state  api.TaskState
	ready  bool
	reason string
	// container is the state of the container; replaced is set if it is a different one than before.
	container runtime.State
	replaced  bool
}

var (
	healed   = afterwards{state: api.TaskRunning, ready: true, container: runtime.StateRunning}
	remade   = afterwards{state: api.TaskRunning, ready: true, container: runtime.StateRunning, replaced: true}
	complete = afterwards{state: api.TaskComplete, reason: "Exited", container: runtime.StateExited}
	failed   = afterwards{state: api.TaskFailed, reason: "Exited", container: runtime.StateExited}
	oomed    = afterwards{state: api.TaskFailed, reason: "OOMKilled", container: runtime.StateExited}
)

// TestWhatHappenedAndWhatFollows checks the table of events of a container, on the simulated engine, with the agent
// running and with the agent stopped at that moment.
func TestWhatHappenedAndWhatFollows(t *testing.T) {
	kill := func(l *harness, pod string) error { return l.engine.Kill(pod, "SIGKILL") }
	stop := func(l *harness, pod string) error { return l.engine.StopByHand(pod) }
	remove := func(l *harness, pod string) error { return l.engine.RemoveByHand(pod) }
	restart := func(l *harness, _ string) error {
		l.engine.StopEngine()
		l.settle()
		l.engine.StartEngine()
		return nil
	}
	exit := func(code int) func(*harness, string) error {
		return func(l *harness, pod string) error { return l.engine.Exit(pod, code) }
	}
	oom := func(l *harness, pod string) error { return l.engine.OOM(pod) }

	for name, tc := range map[string]struct {
		reason   string
		policy   string
		happens  func(l *harness, pod string) error
		up, down afterwards
	}{
		"unless-stopped kill":    {"by hand", "unless-stopped", kill, healed, healed},
		"unless-stopped stop":    {"by hand", "unless-stopped", stop, healed, healed},
		"unless-stopped rm":      {"by hand", "unless-stopped", remove, remade, remade},
		"unless-stopped exit":    {"the engine brings it back", "unless-stopped", exit(1), healed, healed},
		"unless-stopped oom":     {"the engine brings it back", "unless-stopped", oom, healed, healed},
		"unless-stopped restart": {"the engine brings it back, or the agent", "unless-stopped", restart, healed, healed},
		"always kill":            {"by hand", "always", kill, healed, healed},
		"always restart":         {"the engine brings it back", "always", restart, healed, healed},
		"no kill":                {"events show it; unwatched it counts as an exit", "no", kill, healed, failed},
		"no stop": {"events show it; unwatched it counts as an exit, here with code 0", "no",
			stop, healed, complete},
		"no rm":     {"by hand", "no", remove, remade, remade},
		"no exit 0": {"its own end", "no", exit(0), complete, complete},
		"no exit 1": {"its own end", "no", exit(1), failed, failed},
		"no oom":    {"its own end", "no", oom, oomed, oomed},
		"no restart": {"not its own end; unwatched it counts as one, here with code 0", "no",
			restart, healed, complete},
		"on-failure kill":   {"the policy would have brought an exit back", "on-failure", kill, healed, healed},
		"on-failure exit 0": {"its own end, which the policy leaves", "on-failure", exit(0), complete, complete},
		"on-failure exit 1": {"the engine brings it back", "on-failure", exit(1), healed, healed},
	} {
		for _, watched := range []bool{true, false} {
			want, agentIs := tc.up, "up"
			if !watched {
				want, agentIs = tc.down, "down"
			}
			t.Run(name+" agent "+agentIs, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newHarness(t)
					l.start()
					defer func() { l.close() }()
					task := l.deploy(taskID(1), func(_ *api.Task, spec *api.DeploymentSpec) { spec.Restart = tc.policy })
					l.settle()
					before := l.wantContainer(task, runtime.StateRunning)
					if !watched {
						l.stop()
					}
					l.must(tc.happens(l, task.ContainerName()))
					if !watched {
						l.start()
					}
					l.pass(time.Second)
					l.want(task, want.state, want.ready, want.reason)
					after := l.wantContainer(task, want.container)
					if replaced := after.ID != before.ID; replaced != want.replaced {
						t.Errorf("%s: replaced %v, want %v", tc.reason, replaced, want.replaced)
					}
				})
			})
		}
	}
}

func TestHealsWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		for _, hand := range []func(string) error{
			func(pod string) error { return l.engine.Kill(pod, "SIGKILL") }, l.engine.StopByHand, l.engine.RemoveByHand,
		} {
			l.pass(time.Millisecond)
			l.must(hand(task.ContainerName()))
			synctest.Wait() // not a tick of the clock passes
			l.wantContainer(task, runtime.StateRunning)
			l.want(task, api.TaskRunning, true, "")
		}
		if status := l.status(task); len(status.Exits) != 0 || status.Incarnations != 4 {
			t.Errorf("a stop by hand counted as a crash: %d exits, incarnation %d", len(status.Exits), status.Incarnations)
		}
	})
}

func TestMissedEventIsFoundByTheFullList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.deaf.Store(true)
		l.must(l.engine.RemoveByHand(task.ContainerName()))
		l.settle()
		l.wantContainer(task, "")
		l.deaf.Store(false)
		l.pass(11 * time.Second)
		l.wantContainer(task, runtime.StateRunning)
	})
}

// TestDetachedContainerJoinsItsNetworkAgain: no event reports it, and the next full list finds it.
func TestDetachedContainerJoinsItsNetworkAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		before := l.wantContainer(task, runtime.StateRunning)
		l.must(l.engine.Detach(task.ContainerName()))
		if c := l.wantContainer(task, runtime.StateRunning); c.Address != "" || !c.Detached {
			t.Fatalf("it is on its network: %+v", c)
		}
		l.pass(time.Minute)
		if c := l.wantContainer(task, runtime.StateRunning); c.ID != before.ID || c.Detached || c.Address != before.Address {
			t.Errorf("a minute later: %+v", c)
		}
		l.want(task, api.TaskRunning, true, "")
	})
}

func TestFrozenSlotStaysStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), func(_ *api.Task, spec *api.DeploymentSpec) { spec.Restart = "no" })
		l.settle()
		l.freeze(task)
		l.want(task, api.TaskRunning, false, "Frozen")
		l.wantContainer(task, runtime.StateExited)
		l.must(l.engine.StartByHand(task.ContainerName()))
		l.settle()
		l.wantContainer(task, runtime.StateExited)
		l.thaw(task)
		l.want(task, api.TaskRunning, true, "")
		l.wantContainer(task, runtime.StateRunning)
	})
}

func TestPausedContainerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.must(l.engine.Pause(task.ContainerName()))
		l.pass(time.Minute)
		l.want(task, api.TaskRunning, false, "Paused")
		l.wantContainer(task, runtime.StatePaused)
		l.must(l.engine.Unpause(task.ContainerName()))
		l.settle()
		l.want(task, api.TaskRunning, true, "")
	})
}
