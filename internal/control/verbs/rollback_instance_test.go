package verbs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// cloudOf returns the instance with a version of its chart and further fields.
func cloudOf(version, more string) api.Object {
	object := instanceOf("east", "cloud")
	spec := strings.Replace(string(object.Spec), `"1.0.0"`, `"`+version+`"`, 1)
	object.Spec = json.RawMessage(strings.TrimSuffix(spec, "}") + more + "}")
	return object
}

// delivered returns a world in which an instance had the versions, of which the last is declared, with what is known of
// each release.
func delivered(t *testing.T, outcomes map[string]api.ReleaseOutcome, versions ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.mustApply(clusterObject("east"))
	for i, version := range versions {
		object := cloudOf(version, "")
		w.mustApply(object)
		spec, err := clusterjob.Snapshot(object.Spec)
		if err != nil {
			t.Fatal(err)
		}
		release := api.Release{ID: "v" + string(rune('1'+i)), Number: i + 1, Kind: object.Kind, Scope: object.Scope,
			Name: object.Name, Spec: spec, SpecHash: version, Generation: int64(i + 1)}
		w.put(records.ReleaseKey(object.Ref(), release.ID), release)
	}
	w.put(records.StatusKey(cloudOf("", "").Ref()), api.DeliveredStatus{Outcomes: outcomes})
	return w
}

var wasGoodOnce = api.ReleaseOutcome{Good: true}

// TestRollbackOfAnInstance: a rollback declares the newest good release that differs again, or the one that is named.
func TestRollbackOfAnInstance(t *testing.T) {
	for name, tc := range map[string]struct {
		versions []string
		outcomes map[string]api.ReleaseOutcome
		release  string
		want     string // the release, and the version of the chart
	}{
		"the newest good one": {[]string{"1.0.0", "2.0.0", "3.0.0"},
			map[string]api.ReleaseOutcome{"v1": wasGoodOnce, "v2": {Reason: "HelmReleaseFailed"}}, "", "v1 1.0.0"},
		"none is known": {[]string{"1.0.0", "2.0.0", "3.0.0"}, nil, "", "v2 2.0.0"},
		"by name, failed": {[]string{"1.0.0", "2.0.0", "3.0.0"},
			map[string]api.ReleaseOutcome{"v1": wasGoodOnce, "v2": {Reason: "HelmReleaseFailed"}}, "v2", "v2 2.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := delivered(t, tc.outcomes, tc.versions...)
			before := *w.object(cloudOf("", "").Ref())
			planned, err := w.service.Rollback(t.Context(), TargetOf(before.Ref()),
				RollbackOptions{Release: tc.release, DryRun: true})
			if err != nil || !planned.DryRun || planned.Release != tc.want[:2] ||
				w.object(before.Ref()).Metadata.Generation != before.Metadata.Generation {
				t.Fatalf("a dry run: %+v, %v", planned, err)
			}
			done, err := w.service.Rollback(t.Context(), TargetOf(before.Ref()),
				RollbackOptions{Release: tc.release, FieldManager: FieldManager{Actor: "ann"}})
			if err != nil || !done.Changed {
				t.Fatalf("%+v, %v", done, err)
			}
			after := *w.object(before.Ref())
			spec, err := api.DecodeStrict[api.ApplicationInstanceSpec](after.Spec)
			if got := done.Release + " " + spec.Chart.Version; err != nil || got != tc.want ||
				after.Metadata.Generation != before.Metadata.Generation+1 ||
				after.Metadata.Stamps[api.StampRollback] != done.Release || after.Metadata.Change.Verb != "rollback" {
				t.Errorf("%s, want %s: %+v, %v", got, tc.want, after.Metadata, err)
			}
			again, err := w.service.Rollback(t.Context(), TargetOf(before.Ref()), RollbackOptions{Release: done.Release})
			if err != nil || again.Changed {
				t.Errorf("the request once more: %+v, %v", again, err)
			}
			w.mustApply(cloudOf("9.0.0", ""))
			if stamps := w.object(before.Ref()).Metadata.Stamps; stamps[api.StampRollback] != "" {
				t.Errorf("an apply leaves the stamps %v", stamps)
			}
		})
	}
}

// TestRollbackOfAnInstanceRefused: what would come to nothing, or can't be, has a next step.
func TestRollbackOfAnInstanceRefused(t *testing.T) {
	good := map[string]api.ReleaseOutcome{"v1": wasGoodOnce}
	cloud := cloudOf("", "").Ref()
	for name, tc := range map[string]struct {
		begin        func(w *world)
		opts         RollbackOptions
		reason       Reason
		detail, next string
	}{
		"the current one": {nil, RollbackOptions{Release: "v2"}, Invalid, "is that of v2 already",
			"tend releases applicationinstance org/cloud"},
		"unknown": {nil, RollbackOptions{Release: "v7"}, NotFound, "has no release v7", "releases that you can return to: v1, v2"},
		"with config": {nil, RollbackOptions{WithConfig: true}, Invalid, "no config of its own",
			"leave out --with-config"},
		"was a placeholder": {func(w *world) {
			w.put(records.ReleaseKey(cloud, "v1"), api.Release{ID: "v1", Number: 1, Kind: cloud.Kind, Scope: cloud.Scope,
				Name: cloud.Name, Spec: json.RawMessage(`{"cluster":"east","appRef":{"catalogId":"x"},"mode":"placeholder"}`)})
		}, RollbackOptions{}, Invalid, "a release can't become a placeholder", "delete the object"},
		"being deleted": {func(w *world) {
			if _, err := w.service.Delete(w.t.Context(), TargetOf(cloud), ""); err != nil {
				w.t.Fatal(err)
			}
		}, RollbackOptions{}, Terminating, "is being deleted", "wait until it is gone"},
		"no other": {func(w *world) {
			w.put(records.StatusKey(cloud),
				api.DeliveredStatus{Outcomes: map[string]api.ReleaseOutcome{"v1": {Reason: "HelmReleaseFailed"}}})
		}, RollbackOptions{}, NotFound, "v1 failed, and v2 is current", "tend rollback applicationinstance org/cloud v1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := delivered(t, good, "1.0.0", "2.0.0")
			if tc.begin != nil {
				tc.begin(w)
			}
			_, err := w.service.Rollback(t.Context(), TargetOf(cloud), tc.opts)
			refused := wantReason(t, err, tc.reason)
			if text := refused.Error(); !strings.Contains(text, tc.detail) || !strings.Contains(refused.Next, tc.next) {
				t.Errorf("it says %q, next %q", text, refused.Next)
			}
		})
	}
	w := delivered(t, good, "1.0.0", "2.0.0")
	deployer := WithRights(t.Context(), source.Rights{Person: "dan", Scopes: []string{"org"}})
	_, err := w.service.Rollback(deployer, TargetOf(cloud), RollbackOptions{Release: "v2"})
	wantReason(t, err, Forbidden)
	_, err = w.service.Rollback(t.Context(), TargetOf(clusterObject("east").Ref()), RollbackOptions{})
	if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Next, "applicationinstance") {
		t.Errorf("of a cluster: %+v", refused)
	}
}

// TestRollbackOfAPausedInstance: while nothing is to be installed the earlier release is stored, and a warning says
// what it waits for: what was paused because it is bad must not be installed first.
func TestRollbackOfAPausedInstance(t *testing.T) {
	good := map[string]api.ReleaseOutcome{"v1": wasGoodOnce}
	cloud := cloudOf("", "").Ref()
	reports := func(reason string) func(*world) {
		return func(w *world) {
			w.put(records.StatusKey(cloud), api.DeliveredStatus{Outcomes: good, Conditions: []api.Condition{
				{Type: "Suspended", Status: api.ConditionTrue, Reason: reason}}})
		}
	}
	for name, tc := range map[string]struct {
		begin func(w *world)
		warns string
	}{
		"suspended": {func(w *world) { w.mustApply(cloudOf("2.0.0", `,"suspend":true`)) }, "once suspend is false"},
		"paused": {func(w *world) {
			object := cloudOf("2.0.0", "")
			object.Metadata.Annotations = map[string]string{"apps.vworkspace.io/reconcile": "disabled"}
			w.mustApply(object)
		}, "paused by its annotation apps.vworkspace.io/reconcile"},
		"paused in the cluster": {reports("ManuallySuspended"), "flux resume helmrelease"},
		"outside its window":    {reports("MaintenanceWindow"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := delivered(t, good, "1.0.0", "2.0.0")
			tc.begin(w)
			suspends := bytes.Contains(w.object(cloud).Spec, []byte(`"suspend":true`))
			result, err := w.service.Rollback(t.Context(), TargetOf(cloud), RollbackOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(result.Warnings, "; "); (got == "") != (tc.warns == "") || !strings.Contains(got, tc.warns) {
				t.Errorf("warnings %q, want %q", got, tc.warns)
			}
			spec := w.object(cloud).Spec
			if !bytes.Contains(spec, []byte("1.0.0")) || bytes.Contains(spec, []byte(`"suspend":true`)) != suspends {
				t.Errorf("stored is %s", spec)
			}
		})
	}
}

// TestRollbackKeepsSuspend: a release says nothing of suspend, so what is declared of it stays.
func TestRollbackKeepsSuspend(t *testing.T) {
	for current, want := range map[string]string{
		`{"a":2,"suspend":true}`: `{"a":1,"suspend":true}`, `{"a":2}`: `{"a":1}`, `{"a":2,"suspend":false}`: `{"a":1,"suspend":false}`,
	} {
		got, err := withSuspendOf(json.RawMessage(`{"a":1}`), json.RawMessage(current))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", current, got, err)
		}
	}
}
