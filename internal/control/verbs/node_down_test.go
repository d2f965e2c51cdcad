package verbs

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestWhatANodeKeepsIsNamed: before a node is said to be off or is removed, the pods whose data is there are named with
// their volumes, and nothing is changed. The data of a leftover no longer belongs to a pod.
func TestWhatANodeKeepsIsNamed(t *testing.T) {
	w := newWorld(t)
	db := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	spec, err := json.Marshal(api.StatefulSetSpec{
		DeploymentSpec: api.DeploymentSpec{Container: api.Container{Image: "db:1",
			Volumes: []string{"extra:/extra", "conf:/conf:ro"}}},
		VolumeClaims: []api.VolumeClaim{{Name: "data", MountPath: "/data"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1"})
	w.put(records.ReleaseKey(db, "v1"), api.Release{ID: "v1", Kind: db.Kind, Scope: db.Scope, Name: db.Name,
		Spec: spec})
	for id, slot := range map[string]string{"a": "0", "b": "1", "c": "2"} {
		task := api.Task{ID: id, Kind: db.Kind, Scope: db.Scope, Name: db.Name, Slot: slot, Release: "v1", Node: "n1",
			Desired: api.DesiredRunning}
		if id == "c" {
			task.Desired, task.Leftover = api.DesiredRemoved, true
		}
		w.put(records.TaskKey(id), task)
		w.put(records.TaskStatusKey(id), api.TaskStatus{ID: id, Node: "n1", State: api.TaskRunning})
	}
	for volume, node := range map[string]string{
		"tend-prod-db-data-0": "n1", "tend-prod-db-data-1": "n2", "tend-prod-db-data-2": "n1", "extra": "n1",
		"conf": "n1",
	} {
		w.put(records.HomeKey(volume), node)
	}
	want := []api.PodVolumes{
		{Pod: "prod-db.0", Object: db, Volumes: []string{"extra", "tend-prod-db-data-0"}},
		{Pod: "prod-db.1", Object: db, Volumes: []string{"extra"}},
	}
	before := w.snapshot().Revision()
	for _, how := range []Down{ConfirmDown, RemoveNode} {
		would, err := w.service.NodeDown(t.Context(), "n1", how, true, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, would.Data); diff != "" {
			t.Errorf("%v: -want +got:\n%s", how, diff)
		}
	}
	if after := w.snapshot().Revision(); after != before {
		t.Errorf("a question was stored: revision %d, before %d", after, before)
	}
	result, err := w.service.NodeDown(t.Context(), "n1", RemoveNode, false, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, result.Data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"conf", "extra", "tend-prod-db-data-0", "tend-prod-db-data-2"},
		result.Volumes); diff != "" {
		t.Errorf("given up: -want +got:\n%s", diff)
	}
}

// TestANodeThatIsNotDown is neither confirmed to be down nor removed. What to do depends on whether it still beats.
func TestANodeThatIsNotDown(t *testing.T) {
	for name, test := range map[string]struct {
		beat           records.Heartbeat
		how            Down
		detail, next   string
		offersForceToo bool
	}{
		"it beats":                {records.Heartbeat{}, ConfirmDown, "node n1 is still connected", "stop Tend on it first", false},
		"it beats, to be removed": {records.Heartbeat{}, RemoveNode, "node n1 is still connected", "stop Tend on it first", true},
		"it is silent": {records.Heartbeat{Last: time.Unix(7, 0)}, ConfirmDown, "node n1 is silent, but not down yet",
			"repeat this once `tend nodes` says that it is down", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1"})
			w.put(records.AliveKey("n1"), test.beat)
			_, err := w.service.NodeDown(t.Context(), "n1", test.how, false, "ann")
			var refused *Error
			if !errors.As(err, &refused) || !strings.Contains(refused.Detail, test.detail) ||
				!strings.Contains(refused.Next, test.next) || strings.Contains(refused.Next, "--force") != test.offersForceToo {
				t.Errorf("%+v", err)
			}
		})
	}
}
