package workload

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// The deployment that a task belongs to reports why it can't be placed, and a heartbeat updates the report.
func TestRefusalsReachTheCondition(t *testing.T) {
	l := newLab(t)
	l.apply(replicas(2, "web:1"))
	l.looks()
	l.obey()
	l.looks()
	l.write(func(txn *layout.Txn) { txn.Delete(layout.AliveKey("n1")) })
	l.place()
	l.looks()
	want := "node n1 does not answer"
	if c := l.condition(api.ConditionDegraded); c.Status != api.ConditionTrue || c.Reason != ReasonNoNode || c.Message != want {
		t.Errorf("%+v, want %q", c, want)
	}
	l.write(func(txn *layout.Txn) { txn.Put(layout.AliveKey("n1"), "now") })
	l.settle()
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("the node is back, and %+v", c)
	}
}
