package workload

import (
	"testing"

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
