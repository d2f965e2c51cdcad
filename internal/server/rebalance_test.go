package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// The plan of the dry run is the one that is stored, and another one right after it finds nothing.
func TestRebalance(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	for _, node := range []string{"n1", "n2"} {
		w.put(records.NodeKey(node), api.NodeStatus{ID: node, Ready: true})
		w.put(records.AliveKey(node), "now")
	}
	for _, slot := range []string{"aaaaaaaa", "bbbbbbbb", "cccccccc"} {
		w.running("web", slot, true)
	}
	rebalance := func(scope, name string, dryRun bool) api.RebalanceResult {
		t.Helper()
		result, err := w.client.Rebalance(t.Context(), scope, name, dryRun)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	plan := rebalance("prod", "web", true)
	want := []api.Move{{Object: ref("web"), Pod: "prod-web.cccccccc", Task: "task-cccccccc", From: "n1", To: "n2",
		Why: "n1 has 3 pods of it, n2 has 0"}}
	if diff := cmp.Diff(want, plan.Moves); diff != "" || plan.Changed {
		t.Errorf("changed %v (-want +got):\n%s", plan.Changed, diff)
	}
	if did := rebalance("", "", false); !cmp.Equal(did.Moves, want) || !did.Changed {
		t.Errorf("%+v", did)
	}
	if again := rebalance("prod", "", false); len(again.Moves) > 0 || again.Changed || again.Moving != 1 {
		t.Errorf("right after it: %+v", again)
	}
	response, body := w.raw("POST", "/v1/rebalance?scope=nowhere", "", "")
	wantProblem(t, response, body, 404)
}
