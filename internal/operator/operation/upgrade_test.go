package operation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

func TestOverlayOf(t *testing.T) {
	type upgrade struct {
		parameters string
		phase      opsv1alpha1.OperationPhase
		generation int64
		started    time.Duration
	}
	const running, succeeded, failed = opsv1alpha1.PhaseRunning, opsv1alpha1.PhaseSucceeded, opsv1alpha1.PhaseFailed
	tests := map[string]struct {
		reason   string
		upgrades []upgrade
		want     Overlay
	}{
		"none":      {"the instance's own", nil, Overlay{Version: "1.0.0"}},
		"pending":   {"one that has not started", []upgrade{{`{"targetVersion":"2.0.0"}`, opsv1alpha1.PhasePending, 3, 0}}, Overlay{Version: "1.0.0"}},
		"running":   {"Flux must be asked for it", []upgrade{{`{"targetVersion":"2.0.0"}`, running, 3, 0}}, Overlay{Version: "2.0.0"}},
		"succeeded": {"it is not undone", []upgrade{{`{"targetVersion":"2.0.0"}`, succeeded, 3, 0}}, Overlay{Version: "2.0.0"}},
		"failed":    {"it leaves nothing behind", []upgrade{{`{"targetVersion":"2.0.0"}`, failed, 3, 0}}, Overlay{Version: "1.0.0"}},
		"cancelled": {"neither does a cancelled one", []upgrade{{`{"targetVersion":"2.0.0"}`, opsv1alpha1.PhaseCancelled, 3, 0}}, Overlay{Version: "1.0.0"}},
		"older spec": {"the user has declared something since", []upgrade{{`{"targetVersion":"2.0.0"}`, succeeded, 2, 0}},
			Overlay{Version: "1.0.0"}},
		"newest": {"the last one to start, in whatever order they are listed", []upgrade{
			{`{"targetVersion":"3.0.0"}`, succeeded, 3, 2 * time.Minute}, {`{"targetVersion":"2.0.0"}`, succeeded, 3, time.Minute},
		}, Overlay{Version: "3.0.0"}},
		"failed after one that succeeded": {"the one before counts again", []upgrade{
			{`{"targetVersion":"2.0.0"}`, succeeded, 3, time.Minute}, {`{"targetVersion":"3.0.0"}`, failed, 3, 2 * time.Minute},
		}, Overlay{Version: "2.0.0"}},
		"values after a version": {"other values don't take the version back", []upgrade{
			{`{"targetVersion":"2.0.0","valuesPatch":{"a":{"x":1},"b":1}}`, succeeded, 3, time.Minute},
			{`{"valuesPatch":{"a":{"y":2},"b":2}}`, running, 3, 2 * time.Minute},
		}, Overlay{Version: "2.0.0", Values: map[string]any{"a": map[string]any{"x": 1.0, "y": 2.0}, "b": 2.0}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.target.Generation = 3
			for i, u := range test.upgrades {
				op := w.operation(string(rune('a'+i)), opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, u.parameters)
				at := metav1.NewTime(epoch.Add(u.started))
				op.Status = opsv1alpha1.OperationStatus{Phase: u.phase, StartedAt: &at, TargetGeneration: u.generation}
				if u.phase == opsv1alpha1.PhasePending {
					op.Status.StartedAt = nil
				}
			}
			other := w.operation("elsewhere", opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, `{"targetVersion":"9.0.0"}`)
			other.Spec.TargetRef.Name = "another"
			other.Status = opsv1alpha1.OperationStatus{
				Phase: succeeded, StartedAt: &metav1.Time{Time: epoch.Add(time.Hour)}, TargetGeneration: 3,
			}
			before := w.list()
			got := OverlayOf(w.target, w.list())
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(before, w.list()); diff != "" {
				t.Errorf("the operations were changed:\n%s", diff)
			}
		})
	}
}

// TestAbandonedOf: what an Upgrade requested that ended without success is the version and values with those that
// counted before it. One of an older spec has left nothing, and one that has not started neither.
func TestAbandonedOf(t *testing.T) {
	const succeeded, failed, cancelled = opsv1alpha1.PhaseSucceeded, opsv1alpha1.PhaseFailed, opsv1alpha1.PhaseCancelled
	w := newWorld()
	w.target.Generation = 3
	for i, u := range []struct {
		parameters string
		phase      opsv1alpha1.OperationPhase
		generation int64
	}{
		{`{"valuesPatch":{"a":1}}`, succeeded, 3}, {`{"targetVersion":"2.0.0"}`, failed, 3},
		{`{"targetVersion":"9.0.0"}`, failed, 2}, {`{"targetVersion":"3.0.0"}`, succeeded, 3},
		{`{"valuesPatch":{"b":2}}`, cancelled, 3}, {`{"targetVersion":"8.0.0"}`, opsv1alpha1.PhaseRunning, 3},
	} {
		op := w.operation(string(rune('a'+i)), opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, u.parameters)
		at := metav1.NewTime(epoch.Add(time.Duration(i) * time.Minute))
		op.Status = opsv1alpha1.OperationStatus{Phase: u.phase, StartedAt: &at, TargetGeneration: u.generation}
	}
	w.operation("never", opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, `{}`).Status.Phase = cancelled
	want := []Overlay{
		{Version: "2.0.0", Values: map[string]any{"a": 1.0}}, {Version: "3.0.0", Values: map[string]any{"a": 1.0, "b": 2.0}},
	}
	if diff := cmp.Diff(want, AbandonedOf(w.target, w.list())); diff != "" {
		t.Error(diff)
	}
}
