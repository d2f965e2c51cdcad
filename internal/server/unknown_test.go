package server_test

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestPodsOfASilentNodeAreUnknown: from the node's last heartbeat until it is lost, its pods are not among those that
// are ready. After that the controller does not count them any more.
func TestPodsOfASilentNodeAreUnknown(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"n1", "n2"} {
		w.put(records.NodeKey(id), api.NodeStatus{ID: id, Ready: true})
		w.put(records.NodeStateKey(id), api.NodeState{State: api.NodeUp})
	}
	w.put(records.AliveKey("n2"), "now")
	w.apply("web", `{"image":"a","replicas":3}`)
	w.running("web", "a", true)
	w.running("web", "b", false) // a pod that isn't ready anyway doesn't count as unknown
	other := w.running("web", "c", true)
	other.Node = "n2"
	w.put(records.TaskKey(other.ID), other)
	w.put(records.StatusKey(ref("web")), api.WorkloadStatus{Replicas: 3, Ready: 2})
	want := func(when string, ready, unknown int) {
		t.Helper()
		object, err := w.client.Object(t.Context(), ref("web"))
		if err != nil {
			t.Fatal(err)
		}
		status, err := api.DecodeStatus[api.WorkloadStatus](object)
		if err != nil || status.Ready != ready || status.Unknown != unknown {
			t.Errorf("%s: %d ready, %d unknown, %v; want %d and %d", when, status.Ready, status.Unknown, err, ready, unknown)
		}
	}
	want("n1 is silent", 1, 1)
	w.put(records.StatusKey(ref("web")), api.WorkloadStatus{Replicas: 3, Ready: 1})
	w.put(records.NodeStateKey("n1"), api.NodeState{State: api.NodeLost})
	want("n1 is lost", 1, 0)
	w.put(records.StatusKey(ref("web")), api.WorkloadStatus{Replicas: 3, Ready: 2})
	w.put(records.NodeStateKey("n1"), api.NodeState{State: api.NodeUp})
	w.put(records.AliveKey("n1"), "now")
	want("n1 answers", 2, 0)
}
