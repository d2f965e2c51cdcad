package workload

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestAWriterBesideAPodDegrades: a pod that runs beside another program on its volume is ready, and its workload says
// what a person must do, until the other one has ended.
func TestAWriterBesideAPodDegrades(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.settle()
	pod := l.live()[0]
	report := func(reason, message, next string) {
		status := *l.snapshot().TaskStatus(pod.ID).Value
		status.Reason, status.Message, status.Next = reason, message, next
		l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(pod.ID), status) })
		l.looks()
	}
	report(api.ReasonVolumeInUse, "container db writes to the volume data too", "docker stop db")
	degraded := l.condition(api.ConditionDegraded)
	if degraded.Status != api.ConditionTrue || degraded.Reason != api.ReasonVolumeInUse ||
		degraded.Next != "docker stop db" ||
		!strings.Contains(degraded.Message, "pod "+pod.ContainerName()+": container db writes") {
		t.Errorf("%+v", degraded)
	}
	if ready := l.condition(api.ConditionReady); ready.Status != api.ConditionTrue {
		t.Errorf("it serves: %+v", ready)
	}
	report("", "", "")
	if degraded := l.condition(api.ConditionDegraded); degraded.Status != api.ConditionFalse {
		t.Errorf("the other one has ended: %+v", degraded)
	}
}
