package verbs

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestAnUnchangedApplyTriesAgainWhatIsInTrouble: it is a write of its own, so no status from before answers for it;
// what is well is not written, nor what a sync or a dry run leaves as it is.
func TestAnUnchangedApplyTriesAgainWhatIsInTrouble(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		phase  api.RolloutPhase
		opts   ApplyOptions
		want   bool
	}{
		"paused":        {"its volume may be free now", api.RolloutPaused, ApplyOptions{}, true},
		"other sources": {"the set doesn't count as a change", api.RolloutPaused, ApplyOptions{Set: "b"}, true},
		"well":          {"there is nothing to do", api.RolloutComplete, ApplyOptions{}, false},
		"dry run":       {"nothing is stored", api.RolloutPaused, ApplyOptions{DryRun: true}, false},
		"other managers": {"they apply again by themselves", api.RolloutPaused,
			ApplyOptions{FieldManager: FieldManager{Manager: "sync:shop"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			web := deployment("prod", "web", `{"image":"web:1"}`)
			first, err := w.apply(ApplyOptions{FieldManager: tc.opts.FieldManager}, web)
			if err != nil {
				t.Fatal(err)
			}
			w.report(web.Ref(), first.Revision, tc.phase)
			before := w.revision()
			result, err := w.apply(tc.opts, web)
			if err != nil {
				t.Fatal(err)
			}
			got, stored := result.Objects[0], w.snapshot().Object(web.Ref())
			if got.Action != api.ActionUnchanged {
				t.Errorf("%s: action %s", tc.reason, got.Action)
			}
			if tried := stored.Value.Metadata.Stamps[api.StampPull] != ""; tried != tc.want ||
				(w.revision() > before) != tc.want {
				t.Errorf("%s: tried again: %v, want %v", tc.reason, tried, tc.want)
			}
			if tc.want && (!got.Retried || got.Revision != stored.Modified || stored.Modified <= before) {
				t.Errorf("%s: the result is %+v, the object's revision %d, before it was %d", tc.reason, got,
					stored.Modified, before)
			}
		})
	}
}

// TestAScaleToTheSameCountTriesAgain: a person's scale to the count that an object has already asks for another try. A
// count that a controller repeats asks for nothing.
func TestAScaleToTheSameCountTriesAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		phase  api.RolloutPhase
		by     FieldManager
		want   bool
	}{
		"paused":         {"its volume may be free now", api.RolloutPaused, FieldManager{Actor: "bob"}, true},
		"well":           {"there is nothing to do", api.RolloutComplete, FieldManager{Actor: "bob"}, false},
		"other managers": {"they repeat their count by themselves", api.RolloutPaused, scaler, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			web := deployment("prod", "web", `{"image":"web:1"}`)
			w.mustApply(web)
			target := TargetOf(web.Ref())
			first, err := w.service.Scale(t.Context(), target, 2, tc.by)
			if err != nil {
				t.Fatal(err)
			}
			w.report(web.Ref(), first.Revision, tc.phase)
			before := w.revision()
			got, err := w.service.Scale(t.Context(), target, 2, tc.by)
			if err != nil || got.Changed || got.Generation != first.Generation {
				t.Errorf("%s: %+v, %v", tc.reason, got, err)
			}
			modified := w.snapshot().Object(web.Ref()).Modified
			if got.Retried != tc.want || got.Revision > before != tc.want || got.Revision != modified {
				t.Errorf("%s: tried again: %v at revision %d of %d, want %v", tc.reason, got.Retried, got.Revision,
					before, tc.want)
			}
			if !tc.want {
				return
			}
			again, err := w.service.Scale(t.Context(), target, 2, tc.by)
			if err != nil || again.Retried || again.Revision != got.Revision {
				t.Errorf("that try is under way: %+v, %v", again, err)
			}
			if applied, err := w.apply(ApplyOptions{}, web); err != nil || !applied.Objects[0].Retried {
				t.Errorf("an apply asks for one each time: %+v, %v", applied, err)
			}
			w.report(web.Ref(), w.revision(), tc.phase)
			if again, err = w.service.Scale(t.Context(), target, 2, tc.by); err != nil || !again.Retried {
				t.Errorf("that try failed too: %+v, %v", again, err)
			}
		})
	}
}

// report stores a status of an object: its rollout is paused over a volume, or it is well.
func (w *world) report(ref api.Ref, revision int64, phase api.RolloutPhase) {
	w.t.Helper()
	status := api.WorkloadStatus{ObservedRevision: revision, Rollout: &api.RolloutStatus{Phase: phase}}
	bad := phase == api.RolloutPaused
	for _, c := range []struct {
		kind  string
		holds bool
	}{{api.ConditionReady, !bad}, {api.ConditionProgressing, false}, {api.ConditionDegraded, bad}} {
		is := api.Condition{Type: c.kind, Status: api.ConditionFalse, Reason: api.ReasonVolumeInUse,
			Message: "the old text"}
		if c.holds {
			is.Status = api.ConditionTrue
		}
		status.Conditions = append(status.Conditions, is)
	}
	w.put(records.StatusKey(ref), status)
}
