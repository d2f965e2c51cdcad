package clusterjob

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// lists has the cluster report its Helm release's revisions, a second later: of a generation, which became one of them.
func (w *world) lists(generation, current int64, revisions ...api.HelmRevision) {
	w.now = w.now.Add(time.Second)
	source := ResourceOf(w.object.Ref())
	source.UID, source.Generation = "k1", generation
	next, _ := TakeEvent(w.report, w.object.Metadata.UID, pull.Event{ResourceRef: source, Timestamp: w.now,
		History: &pull.History{Revisions: revisions, Current: current}}, w.now)
	w.report = &next
}

func revisionOf(number int64, status, chart string) api.HelmRevision {
	return api.HelmRevision{Revision: number, Status: status, ChartVersion: chart}
}

// TestHelmRevisionOfARelease: a release is the revision that the cluster names for the very resource that the release's
// job applied.
func TestHelmRevisionOfARelease(t *testing.T) {
	done, ready := pull.Result{Outcome: pull.OutcomeSucceeded}, api.ConditionReady
	one := revisionOf(1, "deployed", "1.0.0")
	past := revisionOf(1, "superseded", "1.0.0")
	good := func(t *testing.T, w *world) {
		w.takes(t, done)
		w.says(ready, api.ConditionTrue, "HelmReleaseReady", w.job.Generation)
		w.lists(w.job.Generation, 1, one)
	}
	for name, tc := range map[string]struct {
		reason string
		play   func(t *testing.T, w *world)
		want   map[string]int64
	}{
		"good": {"the cluster says so", good, map[string]int64{"v1": 1}},
		"early": {"it is known before Ready is", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.lists(1, 1, one)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
		}, map[string]int64{"v1": 1}},
		"no answer": {"the release has no outcome yet", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.lists(1, 1, one)
		}, map[string]int64{"v1": 0}},
		"not known": {"the cluster lists revisions, and names none", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
			w.lists(1, 0, one)
		}, map[string]int64{"v1": 0}},
		"untrue": {"the cluster names one that it doesn't list", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
			w.lists(1, 9, one)
		}, map[string]int64{"v1": 0}},
		"failed": {"the failed revision, not that of its rollback", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.declares(instanceSpec("2.0.0"), nil)
			w.takes(t, done)
			w.says(api.ConditionDegraded, api.ConditionTrue, "HelmReleaseFailed", 2)
			w.lists(2, 2, revisionOf(3, "deployed", "1.0.0"), revisionOf(2, "failed", "2.0.0"), past)
		}, map[string]int64{"v1": 1, "v2": 2}},
		"late": {"what is said of the generation before says nothing of the next", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.declares(instanceSpec("2.0.0"), nil)
			w.takes(t, done)
			w.lists(1, 1, one)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 2)
		}, map[string]int64{"v1": 1, "v2": 0}},
		"not applied": {"the new job is not done yet", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.declares(instanceSpec("2.0.0"), nil)
			w.control(t)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
			w.lists(1, 1, one)
		}, map[string]int64{"v1": 1, "v2": 0}},
		"changed in the cluster": {"the generation is not the one that was applied", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
			w.lists(2, 2, revisionOf(2, "deployed", "6.6.6"), past)
		}, map[string]int64{"v1": 0}},
		"other values": {"the Secret has changed, and Flux has upgraded", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.lists(1, 2, revisionOf(2, "deployed", "1.0.0"), past)
		}, map[string]int64{"v1": 2}},
		"other values fail": {"what was good is not what failed", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.lists(1, 2, revisionOf(2, "failed", "1.0.0"), one)
		}, map[string]int64{"v1": 1}},
		"the same to Helm": {"a spec that changes nothing in Helm shares the revision", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.declares(instanceSpec("2.0.0"), nil)
			good(t, w)
		}, map[string]int64{"v1": 1, "v2": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.play(t, w)
			w.control(t)
			for id, want := range tc.want {
				if got := w.status.Outcomes[id].HelmRevision; got != want {
					t.Errorf("%s is revision %d, want %d: %s", id, got, want, tc.reason)
				}
			}
		})
	}
}

// TestAnswersAreBounded: whatever a cluster says of revisions, and whatever times it gives, the report is small, and
// can be stored.
func TestAnswersAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringN(0, 10, 40), rapid.Just(strings.Repeat("x", 5000)))
		when := rapid.SampledFrom([]time.Time{{}, noon, noon.AddDate(5, 0, 0), noon.AddDate(-3, 0, 0),
			time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -23*3600)),
			time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 23*3600))})
		history := pull.History{Current: rapid.Int64Range(-1, 5).Draw(t, "current")}
		for range rapid.IntRange(0, 30).Draw(t, "length") {
			history.Revisions = append(history.Revisions, api.HelmRevision{
				Revision: rapid.Int64Range(-1, 30).Draw(t, "revision"), ChartVersion: text.Draw(t, "chart"),
				Status: text.Draw(t, "status"), Digest: text.Draw(t, "digest"), FirstDeployed: when.Draw(t, "first"),
				LastDeployed: when.Draw(t, "last"),
			})
		}
		report, _ := TakeEvent(nil, "u1", pull.Event{
			ResourceRef: api.ClusterResource{UID: text.Draw(t, "uid")}, History: &history, Timestamp: when.Draw(t, "at"),
			Conditions: []pull.Condition{{Type: "Ready", LastTransitionTime: when.Draw(t, "since")}},
		}, noon)
		encoded, err := json.Marshal(report)
		if err != nil || len(encoded) > 12*1024 {
			t.Fatalf("%d bytes, %v", len(encoded), err)
		}
		for i, r := range report.Revisions {
			if r.Revision < 1 || i > 0 && r.Revision >= report.Revisions[i-1].Revision || r.LastDeployed.After(noon) {
				t.Fatalf("%+v", report.Revisions)
			}
		}
		if report.Revision != 0 && revisionIn(report.Revisions, report.Revision) == nil {
			t.Fatalf("revision %d of %+v", report.Revision, report.Revisions)
		}
	})
}
