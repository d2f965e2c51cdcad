package server_test

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestReadyShowsProbes: the answer whether a pod is ready has the results of its probes, also if it isn't.
func TestReadyShowsProbes(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:1"}`)
	task := w.running("web", "aaaaaaaa", false)
	probes := map[string]api.ProbeStatus{"readiness": {Phase: api.ProbeUnhealthy, Since: started,
		Message: "status 500", Transition: 2}}
	w.put(records.TaskStatusKey(task.ID), api.TaskStatus{
		ID: task.ID, Node: "n1", State: api.TaskRunning, Reason: "Unready", Message: "the readiness probe fails: status 500",
		Probes: probes, LivenessRestarts: []time.Time{started},
	})
	got, err := w.client.PodReadiness(t.Context(), task.ContainerName())
	if err != nil || got.Ready || got.Reason != "Unready" || got.Probes["readiness"] != probes["readiness"] {
		t.Errorf("%+v, %v", got, err)
	}
	pod, err := w.client.Pod(t.Context(), task.ContainerName())
	if err != nil || pod.Probes["readiness"] != probes["readiness"] || len(pod.LivenessRestarts) != 1 {
		t.Errorf("%+v, %v", pod, err)
	}
	if response, _ := w.raw("GET", "/v1/pods/prod-web.cccccccc/ready", "", ""); response.StatusCode != 404 {
		t.Errorf("an unknown pod: status %d, want 404", response.StatusCode)
	}
}

// TestReadyNeedsAnObservation: a pod that was ready when an earlier server ran is not, until this one's agent has
// observed its container.
func TestReadyNeedsAnObservation(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:1"}`)
	task := w.running("web", "aaaaaaaa", true)
	if got, err := w.client.PodReadiness(t.Context(), task.ContainerName()); err != nil || !got.Ready {
		t.Fatalf("%+v, %v", got, err)
	}
	w.containers.unobserved.Store(true)
	if got, err := w.client.PodReadiness(t.Context(), task.ContainerName()); err != nil || got.Ready ||
		got.Reason != "NotObserved" {
		t.Errorf("%+v, %v", got, err)
	}
}
