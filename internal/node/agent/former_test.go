package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

// ordinal makes a task an ordinal.
func ordinal(slot string) func(*api.Task, *api.DeploymentSpec) {
	return func(task *api.Task, _ *api.DeploymentSpec) { task.Kind, task.Slot = api.KindStatefulSet, slot }
}

// supersede gives an ordinal to another task here, as after a person said that the node is off.
func (l *harness) supersede(old api.Task, id string) api.Task {
	l.t.Helper()
	next := old
	next.ID, next.CreatedAt = id, time.Now()
	snap := l.snapshot()
	l.commit(records.NewTxn("test").SupersedeTask(snap.Task(old.ID), snap.Slot(old.Owner(), old.Slot), next, time.Now()))
	return next
}

// TestALeftoverGoesFirst: an ordinal's next container on a node is made once the one before is stopped and removed,
// which takes a while.
func TestALeftoverGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{StopDelay: hollow.Delay(5 * time.Second)})
		l.start()
		defer l.close()
		old := l.deploy(taskID(1), ordinal("0"))
		l.settle()
		was := l.wantContainer(old, runtime.StateRunning)
		next := l.supersede(old, taskID(2))
		l.pass(time.Second)
		l.want(next, api.TaskPreparing, false, api.ReasonWaitingForPredecessor)
		if now := l.wantContainer(old, runtime.StateRunning); now.ID != was.ID {
			t.Errorf("%+v", now)
		}
		l.pass(10 * time.Second)
		l.want(next, api.TaskRunning, true, "")
		if all := l.engine.Containers(); len(all) != 1 || all[0].Task() != next.ID {
			t.Errorf("%+v", all)
		}
		if l.snapshot().TaskStatus(old.ID).Exists() {
			t.Error("the node still speaks of the leftover")
		}
	})
}

// TestWhatRanBeforeTheJoinIsStopped: a machine that is a node again after it was taken out stops what it ran as that
// node and the store doesn't know, before it starts another container of the same ordinal. What others run on its
// engine stays.
func TestWhatRanBeforeTheJoinIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{StopDelay: hollow.Delay(5 * time.Second)})
		former := func(node, slot string) map[string]string {
			return map[string]string{
				api.LabelCluster: cluster, api.LabelNode: node, api.LabelTask: "gone-" + node + slot, api.LabelSlot: slot,
				api.LabelKind: string(api.KindStatefulSet), api.LabelScope: "shop", api.LabelName: "web",
			}
		}
		l.must(l.engine.RunByHand("shop-web.0", former(nodeID, "0")))
		l.must(l.engine.RunByHand("shop-web.1", former("another", "1")))
		l.must(l.engine.RunByHand("shop-web.2", former("old-name", "2")))
		l.former = []string{nodeID, "old-name"}
		l.start()
		defer l.close()
		next := l.deploy(taskID(1), ordinal("0"))
		quarantined := func() {
			t.Helper()
			if got := l.node().Quarantined; len(got) != 1 || got[0] != "shop-web.1" {
				t.Errorf("quarantined: %v", got)
			}
		}
		l.pass(time.Second)
		l.want(next, api.TaskPreparing, false, api.ReasonWaitingForPredecessor)
		quarantined()
		l.pass(15 * time.Second)
		l.want(next, api.TaskRunning, true, "")
		quarantined()
		var names []string
		for _, c := range l.engine.Containers() {
			names = append(names, c.Name)
		}
		if len(names) != 2 || l.wantContainer(next, runtime.StateRunning).Name != "shop-web.0" {
			t.Errorf("left: %v", names)
		}
		if l.cleared.Load() != 1 {
			t.Errorf("it was said %d times that nothing is left", l.cleared.Load())
		}
	})
}

// TestWhatTheStoreKnowsIsNoFormerContainer: a machine that is a node again goes on with what the store says is its own.
func TestWhatTheStoreKnowsIsNoFormerContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		task := l.deploy(taskID(1), ordinal("0"))
		l.settle()
		was := l.wantContainer(task, runtime.StateRunning)
		l.stop()
		l.former = []string{nodeID}
		l.start()
		defer l.close()
		l.pass(time.Minute)
		if now := l.wantContainer(task, runtime.StateRunning); now.ID != was.ID || l.cleared.Load() != 1 ||
			l.engine.Calls()["stop"] > 0 {
			t.Errorf("%+v, before %+v", now, was)
		}
	})
}
