package verbs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// A plan is stored for each deployment, beside what an earlier one still moves; what has ended is dropped.
func TestRebalanceRecordsItsMoves(t *testing.T) {
	moves := []placement.Move{{Task: "t1", From: "n1", To: "n2", Why: "n1 has 2 pods of it, n2 has 0"}}
	w := newWorld(t, func(o *Options) {
		o.Rebalance = func(_ records.Snapshot, chosen func(api.Ref) bool) (out []placement.Move) {
			if chosen(ref("prod", "web")) {
				out = moves
			}
			return out
		}
	})
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`), deployment("test", "web", `{"image":"web:1"}`))
	task := func(id string, desired api.DesiredState) {
		w.put(records.TaskKey(id), api.Task{ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "web",
			Slot: "s" + id,
			Node: "n1", Desired: desired})
	}
	task("t1", api.DesiredRunning)
	recorded := func() map[string]string {
		if read := w.snapshot().Moves(ref("prod", "web")); read.Exists() {
			return read.Value.Tasks
		}
		return nil
	}
	run := func(opts RebalanceOptions) api.RebalanceResult {
		t.Helper()
		result, err := w.service.Rebalance(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	want := []api.Move{{Object: ref("prod", "web"), Pod: "prod-web.st1", Task: "t1", From: "n1",
		To: "n2", Why: moves[0].Why}}
	if got := run(RebalanceOptions{DryRun: true}); !cmp.Equal(got.Moves, want) || got.Changed || recorded() != nil {
		t.Errorf("a dry run: %+v, stored %v", got, recorded())
	}
	if got := run(RebalanceOptions{Scope: "test"}); len(got.Moves) > 0 || got.Changed || recorded() != nil {
		t.Errorf("of another scope: %+v, stored %v", got, recorded())
	}
	if got := run(RebalanceOptions{Scope: "prod", Name: "web"}); !cmp.Equal(got.Moves, want) || !got.Changed ||
		!cmp.Equal(recorded(), map[string]string{"t1": "n2"}) {
		t.Errorf("%+v, stored %v", got, recorded())
	}
	task("t2", api.DesiredRunning)
	moves = []placement.Move{{Task: "t2", From: "n1", To: "n3"}}
	if got := run(RebalanceOptions{}); got.Moving != 1 ||
		!cmp.Equal(recorded(), map[string]string{"t1": "n2", "t2": "n3"}) {
		t.Errorf("beside an earlier one: %+v, stored %v", got, recorded())
	}
	moves = nil
	task("t1", api.DesiredShutdown)
	if got := run(RebalanceOptions{}); got.Moving != 1 || got.Changed {
		t.Errorf("one has moved: %+v", got)
	}
	task("t2", api.DesiredShutdown)
	if got := run(RebalanceOptions{}); got.Moving != 0 || recorded() != nil {
		t.Errorf("both have moved: %+v, stored %v", got, recorded())
	}
	for _, opts := range []RebalanceOptions{{Scope: "nowhere"}, {Scope: "prod", Name: "shop"}} {
		_, err := w.service.Rebalance(t.Context(), opts)
		wantReason(t, err, NotFound)
	}
}
