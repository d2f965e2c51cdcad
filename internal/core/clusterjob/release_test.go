package clusterjob

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// checkReleases checks that no number was given twice, that each job that the operator did was for a release, and that
// the newest release has the declared spec.
func (w *world) checkReleases(t rapid.TB) {
	t.Helper()
	for i, r := range w.made {
		if r.Number != i+1 || i > 0 && r.SpecHash == w.made[i-1].SpecHash {
			t.Fatalf("release %d is %+v", i+1, r)
		}
	}
	if w.object.Metadata.Deleting() {
		return
	}
	want, err := Snapshot(w.object.Spec)
	if newest := w.releases[len(w.releases)-1]; err != nil || string(newest.Spec) != string(want) ||
		w.status.Release != newest.ID {
		t.Fatalf("the newest release is %s: %s, the status says %s, declared is %s", newest.ID, newest.Spec, w.status.Release,
			want)
	}
	if len(w.releases) > api.DefaultKeepReleases+1 {
		t.Fatalf("%d releases are kept", len(w.releases))
	}
}

// takes has the operator take, do and report the job, with an outcome.
func (w *world) takes(t *testing.T, result pull.Result) {
	t.Helper()
	w.control(t)
	next, _ := Acknowledge(w.report, *w.job, w.now)
	if result.Outcome == pull.OutcomeSucceeded {
		resource := ResourceOf(w.object.Ref())
		resource.UID, resource.Generation = "k1", w.job.Generation
		result.AppliedRef, w.resource = &resource, &resource
	}
	next, verdict := TakeResult(&next, *w.job, result, w.now)
	if verdict != Taken {
		t.Fatalf("the result is not taken: %d", verdict)
	}
	w.report = &next
}

// says has the cluster report a condition of a generation, a second later.
func (w *world) says(condition string, status api.ConditionStatus, reason string, generation int64) {
	w.now = w.now.Add(time.Second)
	source := ResourceOf(w.object.Ref())
	source.UID, source.Generation = "k1", generation
	next, _ := TakeEvent(w.report, w.object.Metadata.UID, pull.Event{ResourceRef: source, Timestamp: w.now,
		Conditions: []pull.Condition{{Type: condition, Status: status, Reason: reason}}}, w.now)
	w.report = &next
}

// declares changes the spec.
func (w *world) declares(spec []byte, stamps map[string]string) {
	w.object.Spec, w.object.Metadata.Stamps = spec, stamps
	w.object.Metadata.Generation++
}

// fates returns the kept releases with what is known of each.
func (w *world) fates() string {
	var out []string
	for _, r := range w.releases {
		text := r.ID
		if outcome, known := w.status.Outcomes[r.ID]; known {
			text += map[bool]string{true: "=good", false: "=" + outcome.Reason}[outcome.Good]
		}
		if r.RolledBackFrom != "" {
			text += "<" + r.RolledBackFrom
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestReleasesOfAnInstance: a release has what the cluster was given. It is good or failed by an answer to itself.
func TestReleasesOfAnInstance(t *testing.T) {
	done, ready := pull.Result{Outcome: pull.OutcomeSucceeded}, api.ConditionReady
	one, two := instanceSpec("1.0.0"), instanceSpec("2.0.0")
	suspended := append(two[:len(two)-1:len(two)-1], `,"suspend":true}`...)
	good := func(t *testing.T, w *world) {
		w.takes(t, done)
		w.says(ready, api.ConditionTrue, "HelmReleaseReady", w.job.Generation)
	}
	for name, tc := range map[string]struct {
		reason string
		play   func(t *testing.T, w *world)
		want   string
	}{
		"sent": {"nothing is heard yet", func(t *testing.T, w *world) { w.control(t) }, "v1"},
		"applied": {"that the resource is stored there is no answer of the application",
			func(t *testing.T, w *world) { w.takes(t, done) }, "v1"},
		"good": {"the cluster says so of this generation", good, "v1=good"},
		"failed": {"the cluster says so", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.says(api.ConditionDegraded, api.ConditionTrue, "HelmReleaseFailed", 1)
		}, "v1=HelmReleaseFailed"},
		"not ready": {"Flux is at it", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.says(ready, api.ConditionFalse, "HelmReleaseFailed", 1)
		}, "v1"},
		"changed in the cluster": {"who changes an object of the chart is not the release", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.says(api.ConditionDegraded, api.ConditionTrue, "Drifted", 1)
		}, "v1"},
		"failed, then good": {"it was tried again", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.says(api.ConditionDegraded, api.ConditionTrue, "HelmReleaseFailed", 1)
			w.control(t)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
		}, "v1=good"},
		"good, then ill": {"what was good stays good", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.says(api.ConditionDegraded, api.ConditionTrue, "HelmReleaseFailed", 1)
		}, "v1=good"},
		"refused": {"the delivery failed", func(t *testing.T, w *world) {
			w.takes(t, pull.Result{Outcome: pull.OutcomeFailed, Error: "no such kind"})
		}, "v1=" + api.ReasonDeliveryFailed},
		"conflict": {"another manager has a field", func(t *testing.T, w *world) {
			w.takes(t, pull.Result{Outcome: pull.OutcomeConflict, Error: "spec.chart"})
		}, "v1=" + api.ReasonFieldConflict},
		"replaced": {"it never had an answer", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.declares(two, nil)
		}, "v1 v2"},
		"answered before it was replaced": {"the controller finds both at once", func(t *testing.T, w *world) {
			good(t, w)
			w.declares(two, nil)
		}, "v1=good v2"},
		"a late answer": {"it is of the generation before", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.declares(two, nil)
			w.takes(t, done)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
		}, "v1 v2"},
		"an early answer": {"the new job is not done yet", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.declares(two, nil)
			w.control(t)
			w.says(ready, api.ConditionTrue, "HelmReleaseReady", 1)
		}, "v1=good v2"},
		"another job": {"the answer is to a job from before the release", func(t *testing.T, w *world) {
			good(t, w)
			w.releases[0].Generation = 2
		}, "v1"},
		"deleted in the cluster": {"what happened afterwards says nothing of it", func(t *testing.T, w *world) {
			w.takes(t, done)
			w.control(t)
			next := *w.report
			next.Live = &api.ClusterLive{Key: w.job.Key, Missing: true, At: w.now}
			w.report, w.object.Metadata.Annotations = &next, map[string]string{api.AnnotationDrift: api.DriftReport}
		}, "v1"},
		"silence": {"its last word may not be true any more", func(t *testing.T, w *world) {
			good(t, w)
			w.known.Connected = &api.Condition{Status: api.ConditionFalse, Reason: api.ReasonNoRecentRoundTrip}
		}, "v1"},
		"of an earlier version of Tend": {"its job was done before releases were kept", func(t *testing.T, w *world) {
			good(t, w)
			w.control(t)
			w.releases, w.status = nil, api.DeliveredStatus{}
		}, "v1=good"},
		"no cluster": {"nothing is sent", func(_ *testing.T, w *world) { w.known.Declared = false }, ""},
		"suspended": {"it doesn't say what Flux installs", func(t *testing.T, w *world) {
			w.declares(two, nil)
			good(t, w)
			w.declares(suspended, nil)
		}, "v1=good"},
		"back by hand": {"the same spec once more is a release", func(t *testing.T, w *world) {
			good(t, w)
			w.declares(two, nil)
			good(t, w)
			w.declares(one, nil)
			w.control(t)
		}, "v1=good v2=good v3"},
		"rolled back": {"the stamp names what it repeats", func(t *testing.T, w *world) {
			good(t, w)
			w.declares(two, nil)
			w.control(t)
			w.declares(one, map[string]string{api.StampRollback: "v1"})
			good(t, w)
		}, "v1=good v2 v3=good<v1"},
		"many": {"the newest five, and the last good one", func(t *testing.T, w *world) {
			good(t, w)
			for i := range 8 {
				w.control(t)
				w.declares(instanceSpec(fmt.Sprintf("1.1.%d", i)), nil)
			}
		}, "v1=good v5 v6 v7 v8 v9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.play(t, w)
			w.control(t)
			if got := w.fates(); got != tc.want {
				t.Errorf("%s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestReleaseHasWhatWasSent: it holds the spec of the job of the same commit, with each number as it was written.
func TestReleaseHasWhatWasSent(t *testing.T) {
	w := newWorld()
	w.object.Spec = bytes.Replace(instanceSpec("1.0.0"), []byte(`"inline":{}`),
		[]byte(`"inline":{"n":12345678901234567890}`), 1)
	w.control(t)
	var sent struct{ Spec map[string]any }
	if err := json.Unmarshal(w.job.Payload, &sent); err != nil {
		t.Fatal(err)
	}
	if spec := string(w.releases[0].Spec); !strings.Contains(spec, `"version":"1.0.0"`) ||
		!strings.Contains(spec, `"n":12345678901234567890`) || sent.Spec["chart"] == nil {
		t.Errorf("the release has %s, sent is %s", spec, w.job.Payload)
	}
}
