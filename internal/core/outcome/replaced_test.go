package outcome

import (
	"encoding/json"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestReplaced: a write whose release gives way to that of a newer change has come to an end.
func TestReplaced(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 40, 51, 0, time.UTC)
	release := func(id string, generation int64, change *api.Change) api.Release {
		return api.Release{ID: id, Generation: generation, CreatedAt: at, Change: change}
	}
	roots := &api.Change{Verb: "apply", Actor: "root (pid 4711)"}
	for name, tc := range map[string]struct {
		reason   string
		wait     api.Awaited
		releases []api.Release
		good     bool
		want     api.OutcomeState
		message  string
	}{
		"replaced": {"a newer release took its place", asked,
			[]api.Release{release("v4", 2, nil), release("v5", 3, roots)}, false,
			api.OutcomeReplaced, "your v4 was replaced by root's apply (09:40:51 UTC) before it was complete"},
		"before it had a release": {"its image was not known yet", asked,
			[]api.Release{release("v3", 1, nil), release("v5", 3, roots)}, false,
			api.OutcomeReplaced, "your change was replaced by root's apply (09:40:51 UTC) before it was complete"},
		"by nobody known": {"an older version stored no asker", asked,
			[]api.Release{release("v4", 2, nil), release("v5", 3, nil)}, false,
			api.OutcomeReplaced, "your v4 was replaced by a newer change (09:40:51 UTC) before it was complete"},
		"complete": {"it was done before", asked, []api.Release{release("v4", 2, nil), release("v5", 3, roots)}, true,
			api.OutcomeConverged, "v4 was complete, then replaced by root's apply (09:40:51 UTC)"},
		"scaled since": {"the newer change made no release", asked, []api.Release{release("v4", 2, nil)}, false,
			api.OutcomePending, "0 of 1 (of a newer change, generation 3)"},
		"a scale": {"pods alone are waited for", api.Awaited{Ref: webRef, Revision: 10, Generation: 2, Counts: true},
			[]api.Release{release("v5", 3, roots)}, false, api.OutcomePending,
			"0 of 1 (of a newer change, generation 3)"},
		"unknown": {"a config change makes no generation", api.Awaited{Ref: webRef, Revision: 10},
			[]api.Release{release("v5", 3, roots)}, false, api.OutcomePending, "0 of 1"},
		"one more": {"the same generation, with another environment", asked,
			[]api.Release{release("v4", 2, nil), release("v5", 2, nil)}, false, api.OutcomePending,
			"0 of 1 (of a newer change, generation 3)"},
	} {
		t.Run(name, func(t *testing.T) {
			status := statusOf(12, api.Condition{Status: api.ConditionFalse, Reason: "Progressing", Message: "0 of 1"},
				api.Condition{Status: api.ConditionTrue, Reason: "Progressing"})
			if tc.good {
				status.Outcomes = map[string]api.ReleaseOutcome{"v4": {Good: true}}
			}
			raw, err := json.Marshal(status)
			if err != nil {
				t.Fatal(err)
			}
			object := api.Object{Kind: webRef.Kind, Scope: webRef.Scope, Name: webRef.Name, Status: raw,
				Metadata: api.Metadata{Generation: 3, Revision: 12}}
			all, err := Judge([]api.Awaited{tc.wait}, func(api.Ref) Observed {
				return Observed{Found: true,
					Object: object, Releases: tc.releases}
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := all[0]; got.State != tc.want || got.Message != tc.message {
				t.Errorf("%s: %s: %q, want %s: %q", tc.reason, got.State, got.Message, tc.want, tc.message)
			}
			if replaced := tc.want == api.OutcomeReplaced; replaced &&
				(all[0].Cause != tc.message || all[0].Next != "tend history prod/web") {
				t.Errorf("%+v", all[0])
			}
		})
	}
}
