package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

func (l *harness) node() api.NodeStatus {
	if read := l.snapshot().Node(nodeID); read.Exists() {
		return *read.Value
	}
	return api.NodeStatus{}
}

func TestNodeReportsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		got := l.node()
		if !got.Ready || got.Runtime != "hollow" || got.CPUs != 4 || got.Hostname == "" || got.StartedAt.IsZero() {
			t.Errorf("node %+v", got)
		}
		if !l.snapshot().Alive(nodeID) {
			t.Error("no heartbeat")
		}
		before := l.view.Revision()
		l.pass(5 * time.Minute)
		if !l.snapshot().Alive(nodeID) || l.view.Revision() != before {
			t.Errorf("an idle node writes nothing and stays alive: revision %d → %d", before, l.view.Revision())
		}
	})
}

// TestANodeSendsAHeartbeatEveryFiveSeconds: that is the default interval, and each heartbeat lasts half a minute.
func TestANodeSendsAHeartbeatEveryFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		began := time.Now()
		var sent []time.Duration
		l.beating = func(lasts time.Duration) {
			if sent = append(sent, time.Since(began)); lasts != 30*time.Second {
				t.Errorf("a heartbeat lasts %s", lasts)
			}
		}
		l.start()
		defer l.close()
		l.pass(21 * time.Second)
		want := []time.Duration{0, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTheServerSaysHowLongAHeartbeatLasts: by its own node timeout. An agent sends them often enough for that, and no
// more often than it was going to.
func TestTheServerSaysHowLongAHeartbeatLasts(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{55 * time.Second: 5 * time.Second,
		12 * time.Second: 4 * time.Second, 2 * time.Second: 2 * time.Second / 3} {
		synctest.Test(t, func(t *testing.T) {
			l := newHarness(t)
			l.lease = lease
			var sent []time.Time
			l.beating = func(lasts time.Duration) {
				if sent = append(sent, time.Now()); lasts != lease {
					t.Errorf("the agent counts on %s, the server says %s", lasts, lease)
				}
			}
			l.start()
			defer l.close()
			l.pass(21 * time.Second)
			for i := 1; i < len(sent); i++ {
				if apart := sent[i].Sub(sent[i-1]); apart != want {
					t.Errorf("of %s, heartbeats are %s apart, want %s", lease, apart, want)
				}
			}
			if len(sent) < 4 {
				t.Errorf("%d heartbeats", len(sent))
			}
		})
	}
}

func TestHeartbeatEndsWithTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		l.stop()
		l.start()
		l.pass(31 * time.Second)
		if !l.snapshot().Alive(nodeID) {
			t.Error("the lease before the restart took the heartbeat along")
		}
		l.close()
	})
}

func TestEngineGoesAwayAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.engine.Disconnect()
		l.settle()
		if got := l.node(); got.Ready || got.Reason != "EngineUnavailable" || got.Message == "" {
			t.Errorf("node %+v", got)
		}
		l.want(task, api.TaskRunning, true, "EngineUnavailable") // it may well run
		second := l.deploy(taskID(2), nil)
		l.pass(time.Minute)
		l.engine.Reconnect()
		l.pass(6 * time.Second)
		if !l.node().Ready {
			t.Error("the node is not ready again")
		}
		l.want(task, api.TaskRunning, true, "")
		l.want(second, api.TaskRunning, true, "")
	})
}

func TestEngineIsAwayAtBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.engine.Disconnect()
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		select {
		case <-l.agent.Ready():
		default:
			t.Error("a missing engine must not keep the server from being ready")
		}
		if got := l.node(); got.Ready || got.Reason != "EngineUnavailable" {
			t.Errorf("node %+v", got)
		}
		l.engine.Reconnect()
		l.pass(6 * time.Second)
		l.want(task, api.TaskRunning, true, "")
	})
}

func TestUnknownContainersAreShownAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		labels := map[string]string{api.LabelCluster: cluster, api.LabelTask: "lost"}
		l.must(l.engine.RunByHand("shop-web.lost", labels))
		l.must(l.engine.RunByHand("other", map[string]string{api.LabelCluster: "elsewhere", api.LabelTask: "x"}))
		l.start()
		defer l.close()
		l.pass(10 * time.Minute)
		if got := l.node().Quarantined; len(got) != 1 || got[0] != "shop-web.lost" {
			t.Errorf("quarantined %v", got)
		}
		for _, c := range l.engine.Containers() {
			if c.State != runtime.StateRunning {
				t.Errorf("%s is %s", c.Name, c.State)
			}
		}
		if n := l.engine.Mutations(); n != 0 {
			t.Errorf("%d calls that change something", n)
		}
		if err := l.agent.Stop(context.Background(), "shop-web.lost"); !errors.Is(err, node.ErrNoPod) {
			t.Errorf("a container in quarantine isn't a pod: %v", err)
		}
	})
}

func TestAnEmptyStoreKillsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		task := l.deploy(taskID(1), nil)
		l.settle()
		snap := l.snapshot()
		l.stop()
		status := records.TaskStatusKey(task.ID)
		l.commit(records.NewTxn("test").Delete(records.TaskKey(task.ID)).Delete(status))
		l.start()
		defer func() { l.close() }()
		l.pass(10 * time.Minute)
		l.wantContainer(task, runtime.StateRunning)
		if got := l.node().Quarantined; len(got) != 1 {
			t.Errorf("quarantined %v", got)
		}
		// The record that returns adopts it: nothing is created again.
		l.commit(records.NewTxn("test").Put(records.TaskKey(task.ID), *snap.Task(task.ID).Value))
		l.settle()
		l.want(task, api.TaskRunning, true, "")
		if calls := l.engine.Calls(); calls["create"] != 1 || calls["start"] != 1 {
			t.Errorf("calls %v", calls)
		}
		l.pass(11 * time.Second)
		if got := l.node().Quarantined; len(got) != 0 {
			t.Errorf("an adopted container is no longer quarantined: %v", got)
		}
	})
}

func TestStoppingTheAgentStopsNoContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.close()
		if calls := l.engine.Calls(); calls["stop"] != 0 || calls["remove"] != 0 {
			t.Errorf("calls %v", calls)
		}
		l.wantContainer(task, runtime.StateRunning)
	})
}

func TestPassThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.must(l.engine.Print(task.ContainerName(), "stdout", "hello"))
		ctx := context.Background()
		for _, name := range []string{task.ID, task.ContainerName(), l.container(task).ID} {
			reader, err := l.agent.Logs(ctx, name, runtime.LogOptions{Tail: -1})
			l.must(err)
			if line, err := reader.Next(); err != nil || line.Text != "hello" {
				t.Errorf("log line %+v, %v", line, err)
			}
			l.must(reader.Close())
		}
		l.pass(time.Millisecond)
		l.must(l.agent.Stop(ctx, task.ID))
		l.settle()
		l.want(task, api.TaskRunning, true, "")
		if got := l.status(task).Incarnations; got != 2 {
			t.Errorf("a stop that doesn't freeze heals: incarnation %d", got)
		}
		if _, err := l.agent.Logs(ctx, "shop-web.gone", runtime.LogOptions{}); !errors.Is(err, node.ErrNoPod) {
			t.Errorf("logs of no pod: %v", err)
		}
		if list, err := l.agent.List(ctx); err != nil || len(list) != 1 {
			t.Errorf("list %v, %v", list, err)
		}
	})
}
