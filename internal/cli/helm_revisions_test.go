package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
)

// TestDescribeRevisions: the revisions that `helm history` lists, each with the releases that it is of.
func TestDescribeRevisions(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	describeRevisions(plain{&out}, api.DeliveredStatus{}, now)
	describeRevisions(plain{&out}, api.DeliveredStatus{
		Revisions: []api.HelmRevision{
			{Revision: 12, Status: "deployed", ChartVersion: "6.6.3", LastDeployed: now.Add(-2 * time.Minute)},
			{Revision: 11, Status: "failed", ChartVersion: "7.0.0+4f2a9c0d1e7b"}, {Revision: 10},
		},
		Outcomes: map[string]api.ReleaseOutcome{
			"v10": {HelmRevision: 12}, "v9": {HelmRevision: 12, Good: true}, "v8": {HelmRevision: 11}, "v7": {Good: true},
		},
	}, now)
	want := "  Helm revisions:\n    12 deployed, chart 6.6.3, made 2m ago: v9, v10\n" +
		"    11 failed, chart 7.0.0+4f2a9c0d1e7b: v8\n    10 -\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestOutcomeNamesTheRevision: the history of an application says which revision a release became.
func TestOutcomeNamesTheRevision(t *testing.T) {
	for want, outcome := range map[string]change.Outcome{
		"worked (Helm revision 7)":                 {HelmRevision: 7},
		"failed (Helm revision 8): no such secret": {HelmRevision: 8, Failed: true, Message: "no such secret"},
	} {
		if got := outcomeText(outcome, time.Time{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
