package workload

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// The deployment that a task belongs to reports why it can't be placed, and a heartbeat updates the report.
func TestRefusalsReachTheCondition(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.looks()
	l.runAgent()
	l.write(func(txn *records.Txn) { txn.Delete(records.AliveKey("n1")) })
	l.looks()
	l.place()
	l.looks()
	want := "node n1 does not answer"
	if c := l.condition(api.ConditionDegraded); c.Status != api.ConditionTrue || c.Reason != api.ReasonNoNode ||
		c.Message != want {
		t.Errorf("%+v, want %q", c, want)
	}
	l.write(func(txn *records.Txn) { txn.Put(records.AliveKey("n1"), "now") })
	l.settle()
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("the node is back, and %+v", c)
	}
}

// TestWaitingForAHeartbeatIsNoTrouble: a server that was just started places nothing for some seconds, and a person has
// nothing to do.
func TestWaitingForAHeartbeatIsNoTrouble(t *testing.T) {
	l := newHarness(t)
	l.write(func(txn *records.Txn) {
		before := records.Heartbeat{Server: "s1", Life: epoch}
		txn.Put(records.ServerKey("s1"), api.ServerPresence{Since: epoch.Add(time.Minute)})
		txn.Put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Runtime: "docker", Ready: true})
		txn.Put(records.AliveKey("n1"), before).Put(records.AliveKey("n2"), before)
	})
	l.apply(replicas(2, "web:1"))
	l.looks()
	l.runAgent()
	l.looks()
	l.place()
	l.looks()
	degraded, progressing := l.condition(api.ConditionDegraded), l.condition(api.ConditionProgressing)
	if degraded.Status != api.ConditionFalse || progressing.Status != api.ConditionTrue ||
		progressing.Reason != api.ReasonWaitingForHeartbeat {
		t.Errorf("%+v, %+v", degraded, progressing)
	}
}
