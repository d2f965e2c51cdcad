package instance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/kubetest"
)

// became says of each recorded story which revision the spec before it became, and which revisions the specs of the
// story are said to be in turn, by what `helm history` lists.
var became = map[string]struct {
	before int64
	want   string
}{
	"HelmRelease deleted by hand": {0, "1"}, "chart appears": {0, "1"}, "chart is missing": {0, ""},
	"downgrade": {2, "3"}, "install": {0, "1"}, "install after a failure": {1, "2"}, "install fails": {0, "1"},
	"release uninstalled by hand": {0, "1"}, "resumed": {1, "2"}, "suspended": {0, "1"}, "upgrade": {1, "2"},
	"upgrade after a failure": {4, "6"}, "upgrade fails": {0, "1 2 4"}, "version 1.1.0+build.1": {2, "3"},
	"version 1.2.0+build.2": {3, "4"}, "version v1.0.0": {0, "1"}, "version v1.0.1": {1, "2"},
}

// TestRevisionOfASpec: in the recorded reports of Flux's controllers, a spec is said to be a revision once it is, and
// never the revision of another spec. A failed one isn't the revision of its rollback.
func TestRevisionOfASpec(t *testing.T) {
	for _, step := range kubetest.Recording(t) {
		repository, name, _ := strings.Cut(step.Name, "/")
		story, known := became[name]
		if !known {
			t.Errorf("%s: no revision is known of the story", step.Name)
			continue
		}
		releases := releasesIn(step)
		var got []string
		for _, said := range releases {
			f := replay(said, name == "suspended")
			f.oci, f.version = repository == "oci", releases[len(releases)-1].Attempted
			f.source = fluxObject{object(kindOCIRepository, "prod", "web-source")}
			f.source.Object["status"] = fluxAt(0, "Ready=True/Succeeded")
			if number := f.became(story.before); number > 0 {
				got = append(got, fmt.Sprint(number))
			}
		}
		want := story.want
		if repository == "oci" && name == "upgrade fails" {
			want = "2 4" // the source is played with the last version alone
		}
		if got := strings.Join(slices.Compact(got), " "); got != want {
			t.Errorf("%s: the specs are said to be revisions %s, want %s", step.Name, got, want)
		}
	}
}

func releasesIn(step kubetest.Step) (all []kubetest.Said) {
	for _, said := range step.Said {
		if said.Kind == "HelmRelease" {
			all = append(all, said)
		}
	}
	return all
}

// replay returns a recorded report.
func replay(said kubetest.Said, suspended bool) fluxState {
	const generation = 10
	var conditions, history []any
	for _, c := range said.Conditions {
		conditions = append(conditions, map[string]any{
			"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message, "observedGeneration": generation - c.Lag,
		})
	}
	for _, text := range said.History {
		var number int64
		var version, status string
		if _, err := fmt.Sscanf(text, "v%d %s %s", &number, &version, &status); err != nil {
			panic(err)
		}
		history = append(history, map[string]any{"version": number, "chartVersion": version, "status": status})
	}
	f := fluxState{release: fluxObject{object(kindHelmRelease, "prod", "web")}}
	f.release.SetGeneration(generation)
	f.release.Object["status"] = map[string]any{
		"observedGeneration": generation - said.Lag, "conditions": conditions, "history": history,
		"lastAttemptedRevision": said.Attempted,
	}
	f.release.Object["spec"] = map[string]any{"suspend": suspended}
	return f
}

// TestRevisionOfOtherValues: revisions of one chart differ in their values.
func TestRevisionOfOtherValues(t *testing.T) {
	failed := flux("Ready=False/RollbackSucceeded", "Released=False/UpgradeFailed", "Remediated=True/RollbackSucceeded")
	good := flux("Ready=True/UpgradeSucceeded", "Released=True/UpgradeSucceeded")
	entry := func(number int64, config, status string) any {
		return map[string]any{"version": number, "chartVersion": "1.0.0", "configDigest": config, "status": status}
	}
	for name, tc := range map[string]struct {
		reason       string
		status       map[string]any
		config       string
		history      []any
		before, want int64
	}{
		"ready": {"the newest one", good, "b", []any{entry(2, "b", "deployed"), entry(1, "a", "superseded")}, 1, 2},
		"ready, of other values": {"Flux has not said anything of these", good, "b",
			[]any{entry(1, "a", "deployed")}, 1, 0},
		"the same again": {"Helm makes no revision", good, "a", []any{entry(1, "a", "deployed")}, 1, 1},
		"failed and rolled back": {"the rollback has the values of before", failed, "b",
			[]any{entry(3, "a", "deployed"), entry(2, "b", "failed"), entry(1, "a", "superseded")}, 1, 2},
		"back, and nothing was rendered": {"the first revision is that of an earlier spec", failed, "a",
			[]any{entry(2, "b", "deployed"), entry(1, "a", "superseded")}, 2, 0},
		"failed, as once before": {"that failure was another spec's", failed, "a",
			[]any{entry(3, "b", "deployed"), entry(2, "a", "failed")}, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := fluxState{release: fluxObject{object(kindHelmRelease, "prod", "web")}}
			f.release.SetGeneration(3)
			status := map[string]any{"history": tc.history, "lastAttemptedConfigDigest": tc.config}
			for key, value := range tc.status {
				status[key] = value
			}
			f.release.Object["status"] = attempted(status, "1.0.0", "")
			if got := f.became(tc.before); got != tc.want {
				t.Errorf("revision %d, want %d: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestHistoryIsBounded: whatever stands in the status of a HelmRelease, a history is short, in order, and what the API
// server and JSON can hold.
func TestHistoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just(strings.Repeat("x", 500)),
			rapid.SampledFrom([]string{"deployed", "2026-01-02T03:04:05Z", "9999-12-31T23:59:59-23:00", "0000-01-01T00:00:00+23:00"}))
		var list []any
		for range rapid.IntRange(0, 40).Draw(t, "length") {
			entry := map[string]any{"version": rapid.Int64Range(-2, 50).Draw(t, "version")}
			for _, key := range []string{"chartVersion", "status", "digest", "configDigest", "firstDeployed", "lastDeployed"} {
				entry[key] = text.Draw(t, key)
			}
			list = append(list, entry)
		}
		live := object(kindHelmRelease, "prod", "web")
		live.Object["status"] = map[string]any{"history": append(list, "no entry")}
		p := planner{instance: web()}
		p.history(fluxState{release: fluxObject{live}})
		history := p.result.Status.History
		if len(history) > maxHistory {
			t.Fatalf("%d revisions", len(history))
		}
		for i, one := range history {
			if one.Revision < 1 || i > 0 && one.Revision >= history[i-1].Revision {
				t.Fatalf("revision %d comes after %v", one.Revision, history[:i])
			}
			for _, text := range []string{one.ChartVersion, one.Status, one.Digest} {
				if len(text) > maxHistoryField {
					t.Fatalf("a text of %d bytes", len(text))
				}
			}
		}
		var again []appsv1alpha1.HelmRevision
		if encoded, err := json.Marshal(history); err != nil || json.Unmarshal(encoded, &again) != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
	})
}

// TestLastRevisionStays: until it is known which revision a new spec became, the status says which the one before did.
func TestLastRevisionStays(t *testing.T) {
	instance := web()
	status := attempted(flux("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded"), "1.2.3+aa", "sha256:aa")
	status["history"] = []any{map[string]any{"version": int64(7), "chartVersion": "1.2.3+aa", "status": "deployed"}}
	source := artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:aa")
	result := Plan(instance, applied(t, instance, status, source), noon)
	want := appsv1alpha1.SpecRevision{Generation: 2, Revision: 7}
	if last := result.Status.LastRevision; last == nil || *last != want || len(result.Status.History) != 1 {
		t.Fatalf("%+v, %+v", last, result.Status.History)
	}
	observed := applied(t, instance, status, source)
	instance.Status, instance.Generation, instance.Spec.Chart.Version = result.Status, 3, "1.3.0"
	result = Plan(instance, observed, noon)
	if last := result.Status.LastRevision; *last != want {
		t.Errorf("%+v", last)
	}
}
