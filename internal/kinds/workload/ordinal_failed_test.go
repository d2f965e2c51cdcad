package workload

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestAFailedOrdinalStaysDegradedForTheSameReason while its next attempts are made, start and fail: the condition is
// written once, with the last lines of the container that failed.
func TestAFailedOrdinalStaysDegradedForTheSameReason(t *testing.T) {
	l := newSet(t, 1)
	failed := api.TaskStatus{Node: "n1", State: api.TaskFailed, Reason: api.ReasonExited, Message: "exit code 3",
		LastLog: []string{"no database"}}
	report := func(task api.Task) {
		status := failed
		switch was := l.snapshot().TaskStatus(task.ID); {
		case task.Desired == api.DesiredRemoved && was.Exists():
			l.write(func(txn *records.Txn) { txn.Delete(records.TaskStatusKey(task.ID)) })
			return
		case task.Desired != api.DesiredRunning || was.Exists() && was.Value.State.Terminal():
			return
		case !was.Exists():
			status = api.TaskStatus{Node: "n1", State: api.TaskPreparing, Reason: "Creating"}
		}
		status.ID, status.FinishedAt = task.ID, l.now
		l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(task.ID), status) })
	}
	attempts := map[int]bool{}
	var first api.Condition
	for range 100 {
		l.place()
		for _, task := range l.ordinals() {
			attempts[task.Attempt] = true
			report(task)
		}
		if result := l.looks(); result.Revision == 0 {
			l.now = l.now.Add(max(result.After, time.Millisecond))
		}
		c := l.condition(api.ConditionDegraded)
		if first.Type == "" {
			first = c
		}
		if c.Reason != first.Reason || c.Message != first.Message || !c.LastTransitionTime.Equal(first.LastTransitionTime) {
			t.Fatalf("at attempts %v it is %+v, and was %+v", attempts, c, first)
		}
	}
	if first.Reason != api.ReasonExited || first.Message != "pod prod-data.0: exit code 3\nno database" || !attempts[4] {
		t.Errorf("after attempts %v: %+v", attempts, first)
	}
}
