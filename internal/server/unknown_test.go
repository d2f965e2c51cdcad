package server_test

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
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

// TestAPodThatNoEngineHasShown is not ready: what the store has of it was reported before the agent was started again.
func TestAPodThatNoEngineHasShown(t *testing.T) {
	w := newWorld(t)
	w.put(records.TaskKey("t1"), api.Task{ID: "t1", Kind: api.KindDeployment, Scope: "prod", Name: "web", Slot: "t1",
		Node: "n1", Desired: api.DesiredRunning})
	w.put(records.TaskStatusKey("t1"), api.TaskStatus{ID: "t1", Node: "n1", State: api.TaskRunning, Ready: true})
	w.put(records.AliveKey("n1"), "now")
	for name, test := range map[string]struct {
		node   api.NodeStatus
		ready  bool
		reason string
	}{
		"the engine answers":           {api.NodeStatus{ID: "n1", Ready: true, Runtime: "docker"}, true, ""},
		"it answered, and is away now": {api.NodeStatus{ID: "n1", Runtime: "docker"}, true, ""},
		"it has not answered yet":      {api.NodeStatus{ID: "n1"}, false, api.ReasonEngineUnavailable},
	} {
		w.put(records.NodeKey("n1"), test.node)
		pods, err := w.client.Pods(t.Context(), client.PodFilter{})
		if err != nil || len(pods.Items) != 1 || pods.Items[0].Ready != test.ready || pods.Items[0].Reason != test.reason {
			t.Errorf("%s: %+v, %v", name, pods, err)
		}
	}
}
