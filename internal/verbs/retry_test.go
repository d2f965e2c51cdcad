package verbs

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// TestAnUnchangedApplyTriesAgainWhatIsInTrouble: it is a write of its own, so no status from before answers for it; what
// is well is not written, nor what a sync or a dry run leaves as it is.
func TestAnUnchangedApplyTriesAgainWhatIsInTrouble(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		phase  api.RolloutPhase
		opts   ApplyOptions
		want   bool
	}{
		"paused":         {"its volume may be free now", api.RolloutPaused, ApplyOptions{}, true},
		"other sources":  {"the set is no change", api.RolloutPaused, ApplyOptions{Set: "b"}, true},
		"well":           {"there is nothing to do", api.RolloutComplete, ApplyOptions{}, false},
		"dry run":        {"nothing is stored", api.RolloutPaused, ApplyOptions{DryRun: true}, false},
		"other managers": {"they apply again by themselves", api.RolloutPaused, ApplyOptions{FieldManager: FieldManager{Manager: "sync:shop"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			web := deployment("prod", "web", `{"image":"web:1"}`)
			first, err := w.apply(ApplyOptions{FieldManager: tc.opts.FieldManager}, web)
			if err != nil {
				t.Fatal(err)
			}
			status := api.WorkloadStatus{ObservedRevision: first.Revision, Rollout: &api.RolloutStatus{Phase: tc.phase}}
			bad := tc.phase == api.RolloutPaused
			for _, c := range []struct {
				kind  string
				holds bool
			}{{api.ConditionReady, !bad}, {api.ConditionProgressing, false}, {api.ConditionDegraded, bad}} {
				is := api.Condition{Type: c.kind, Status: api.ConditionFalse, Reason: api.ReasonVolumeInUse, Message: "the old text"}
				if c.holds {
					is.Status = api.ConditionTrue
				}
				status.Conditions = append(status.Conditions, is)
			}
			w.put(records.StatusKey(web.Ref()), status)
			before := w.revision()
			result, err := w.apply(tc.opts, web)
			if err != nil {
				t.Fatal(err)
			}
			got, stored := result.Objects[0], w.snapshot().Object(web.Ref())
			if got.Action != api.ActionUnchanged {
				t.Errorf("%s: action %s", tc.reason, got.Action)
			}
			if tried := stored.Value.Metadata.Stamps[api.StampPull] != ""; tried != tc.want || (w.revision() > before) != tc.want {
				t.Errorf("%s: tried again: %v, want %v", tc.reason, tried, tc.want)
			}
			if tc.want && (!got.Retried || got.Revision != stored.Modified || stored.Modified <= before) {
				t.Errorf("%s: the result is %+v, the object's revision %d, before it was %d", tc.reason, got, stored.Modified, before)
			}
		})
	}
}
