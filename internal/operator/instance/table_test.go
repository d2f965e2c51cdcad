package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// said is a report of Flux on an object; absent if the object is.
type said struct {
	name   string
	status map[string]any
	absent bool
}

// releases and sources are reports of Flux's controllers, as helm-controller v1.6 and source-controller v1.9 make them.
// The desired version of the release is v1.2.3+5.
var (
	releases = []said{
		{name: "absent", absent: true},
		{name: "nothing said", status: map[string]any{"observedGeneration": int64(-1)}},
		{name: "lags, ready", status: version(fluxAt(2, "Ready=True/UpgradeSucceeded"), "1.2.3+aa")},
		{name: "lags, failed", status: version(fluxAt(2, "Ready=False/UpgradeFailed", "Released=False/UpgradeFailed"), "1.2.3+aa")},
		{name: "waits for the source", status: flux("Ready=False/SourceNotReady", "Reconciling=True/Progressing")},
		{name: "waits for the chart", status: chartSays("latest generation of object has not been reconciled")},
		{name: "waits for the chart's artifact", status: chartSays("does not have an artifact")},
		{name: "no such version", status: chartSays("no 'web' chart with version matching 'v1.2.3+5' found")},
		{name: "no such version before", status: chartSays("no 'web' chart with version matching 'v1.2.3' found")},
		{name: "works", status: version(flux("Ready=Unknown/Progressing", "Reconciling=True/Progressing"), "1.2.3+aa")},
		{name: "ready", status: version(flux("Ready=True/UpgradeSucceeded", "Released=True/UpgradeSucceeded"), "1.2.3+aa")},
		{name: "ready, reconciles", status: version(flux("Ready=True/UpgradeSucceeded", "Released=True/UpgradeSucceeded", "Reconciling=True/Progressing"), "1.2.3+aa")},
		{name: "ready, v1.2.3", status: version(flux("Ready=True/UpgradeSucceeded"), "v1.2.3+aa")},
		{name: "ready, of another version", status: version(flux("Ready=True/UpgradeSucceeded"), "1.2.2+aa")},
		{name: "ready, of another digest", status: version(flux("Ready=True/UpgradeSucceeded"), "1.2.3+bb")},
		{name: "failed, of another version", status: version(flux("Ready=False/UpgradeFailed", "Released=False/UpgradeFailed"), "1.2.2+aa")},
		{name: "failed", status: version(flux("Ready=False/UpgradeFailed", "Released=False/UpgradeFailed"), "1.2.3+aa")},
		{name: "failed, tries again", status: version(flux("Ready=Unknown/Progressing", "Released=False/UpgradeFailed", "Reconciling=True/ProgressingWithRetry"), "1.2.3+aa")},
		{name: "failed, undone", status: version(flux("Ready=False/RollbackSucceeded", "Released=False/UpgradeFailed", "Remediated=True/RollbackSucceeded"), "1.2.3+aa")},
		{name: "failed, undone, stalled", status: version(flux("Ready=False/RetriesExceeded", "Released=False/UpgradeFailed", "Remediated=True/RollbackSucceeded", "Stalled=True/RetriesExceeded"), "1.2.3+aa")},
		{name: "stalled", status: version(flux("Ready=False/RetriesExceeded", "Stalled=True/RetriesExceeded"), "1.2.3+aa")},
		{name: "test failed", status: version(flux("Ready=False/TestFailed", "Released=True/UpgradeSucceeded", "TestSuccess=False/TestFailed"), "1.2.3+aa")},
		{name: "chart unreadable", status: flux("Ready=False/ArtifactFailed")},
		{name: "values unreadable", status: flux("Ready=False/ValuesError")},
		{name: "dependency not ready", status: flux("Ready=False/DependencyNotReady")},
	}
	sources = []said{
		{name: "absent", absent: true},
		{name: "lags", status: fluxAt(2, "Ready=True/Succeeded")},
		{name: "fetches", status: flux("Reconciling=True/Progressing", "Ready=Unknown/Progressing")},
		{name: "ready", status: artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:aa")},
		{name: "failed", status: artifact(flux("Ready=False/OCIArtifactPullFailed"), "1.2.3@sha256:aa")},
	}
)

// chartSays returns a release's report while its HelmChart is not ready.
func chartSays(why string) map[string]any {
	status := flux("Ready=False/SourceNotReady", "Reconciling=True/Progressing")
	for _, one := range status["conditions"].([]any) {
		if values := one.(map[string]any); values["type"] == "Ready" {
			values["message"] = "HelmChart 'prod/prod-web' is not ready: " + why
		}
	}
	return status
}

func version(status map[string]any, revision string) map[string]any {
	_, digest, _ := strings.Cut(revision, "+")
	return attempted(status, revision, "sha256:"+digest)
}

// TestTable: every combination of Flux's reports, with the resulting conditions. A condition missing in a line is
// False.
func TestTable(t *testing.T) {
	var text strings.Builder
	for _, oci := range []bool{true, false} {
		for _, before := range []bool{false, true} {
			for _, suspended := range []bool{false, true} {
				fmt.Fprintf(&text, "# %s, %s, %s\n", word(oci, "OCIRepository", "HelmRepository"), word(before, "installed before", "a first installation"),
					word(suspended, "suspended, it was ready before", "not suspended"))
				for _, release := range releases {
					writeRow(&text, release, oci, before, suspended)
				}
				text.WriteString("\n")
			}
		}
	}
	path := filepath.Join("testdata", "translation.txt")
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("go test -run TestTable -rewrite, if it is meant:\n%s", diff)
	}
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// writeRow writes the result for a release's report. Source reports with equal results share a line.
func writeRow(text *strings.Builder, release said, oci, before, suspended bool) {
	var results []string
	with := map[string][]string{}
	for _, source := range sources {
		result := row(translate(state(release, source, oci, before, suspended)))
		if !slices.Contains(results, result) {
			results = append(results, result)
		}
		with[result] = append(with[result], source.name)
	}
	for _, result := range results {
		names := strings.Join(with[result], ", ")
		if len(results) == 1 {
			names = "any"
		}
		fmt.Fprintf(text, "release %s; source %s\n%s", release.name, names, result)
	}
}

// state returns Flux's reports in the form that translate gets.
func state(release, source said, oci, before, suspended bool) fluxState {
	f := fluxState{oci: oci, version: "v1.2.3+5", values: appsv1alpha1.ValuesSecret, wasReady: suspended}
	if !source.absent {
		f.source = fluxObject{object(kindOCIRepository, "prod", "web-source")}
		f.source.SetGeneration(3)
		f.source.Object["status"] = source.status
	}
	if release.absent {
		return f
	}
	f.release = fluxObject{object(kindHelmRelease, "prod", "web")}
	f.release.SetGeneration(3)
	status := map[string]any{}
	for key, value := range release.status {
		status[key] = value
	}
	if before {
		status = installed(status)
	}
	f.release.Object["status"] = status
	if suspended {
		f.release.Object["spec"] = map[string]any{"suspend": true}
	}
	return f
}

func row(conditions []metav1.Condition) string {
	var out strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&out, "  %s=%s/%s %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return out.String()
}

// TestTableHolds checks what must hold for every line of the table.
func TestTableHolds(t *testing.T) {
	for _, release := range releases {
		for _, source := range sources {
			for _, oci := range []bool{true, false} {
				for _, suspended := range []bool{true, false} {
					is := map[string]metav1.Condition{}
					for _, c := range translate(state(release, source, oci, true, suspended)) {
						if _, twice := is[c.Type]; twice || c.Message == "" {
							t.Errorf("%s, %s: %s has no message, or is there twice", release.name, source.name, c.Type)
						}
						is[c.Type] = c
					}
					name := fmt.Sprintf("release %s, source %s, oci %v, suspended %v", release.name, source.name, oci, suspended)
					ready := is["Ready"].Status == metav1.ConditionTrue
					switch {
					case ready && (release.absent || strings.Contains(release.name, "failed") || strings.Contains(release.name, "works")):
						t.Errorf("%s: it is Ready", name)
					case ready && oci && strings.Contains(release.name, "of another") && source.name != "fetches": // the fetch has not finished
						t.Errorf("%s: an answer of the chart before speaks for this one", name)
					case ready && !suspended && release.name == "ready, reconciles": // a suspended release was ready before
						t.Errorf("%s: the action before speaks for the one that has begun", name)
					case ready && !suspended && strings.Contains(release.name, "lags"):
						t.Errorf("%s: an answer of the generation before speaks for this one", name)
					case oci && strings.Contains(release.name, "of another version") && is["Degraded"].Reason == "HelmReleaseFailed":
						t.Errorf("%s: a failure of the version before is one of this", name)
					case !oci && release.name == "no such version" && is["Degraded"].Reason != "ChartUnreachable":
						t.Errorf("%s: a version that the repository lacks is hidden: %+v", name, is)
					case source.name != "failed" && is["Degraded"].Reason != "" &&
						(strings.HasPrefix(release.name, "waits for") || release.name == "no such version before"):
						t.Errorf("%s: what is under way is a failure: %+v", name, is)
					case strings.HasPrefix(release.name, "failed") && !strings.Contains(release.name, "of another") && is["Degraded"].Reason != "HelmReleaseFailed" &&
						(!oci || source.name != "absent" && source.name != "lags"):
						t.Errorf("%s: the failure is hidden: %+v", name, is)
					}
				}
			}
		}
	}
}

// TestASuspendedReleaseStaysReady: Flux never sees the generation of a suspension. A ready release stays ready. One
// that never was ready, or that should change, doesn't become so.
func TestASuspendedReleaseStaysReady(t *testing.T) {
	ready := said{status: version(fluxAt(2, "Ready=True/UpgradeSucceeded"), "1.2.3+aa")}
	for name, tc := range map[string]struct {
		change func(*fluxState)
		want   metav1.ConditionStatus
	}{
		"was ready":         {func(*fluxState) {}, metav1.ConditionTrue},
		"was not ready":     {func(f *fluxState) { f.wasReady = false }, metav1.ConditionUnknown},
		"is to be another":  {func(f *fluxState) { f.version = "1.2.4" }, metav1.ConditionUnknown},
		"is being changed":  {func(f *fluxState) { f.applying = true }, metav1.ConditionUnknown},
		"resumed, not seen": {func(f *fluxState) { f.release.Object["spec"] = map[string]any{} }, metav1.ConditionUnknown},
	} {
		f := state(ready, sources[3], true, true, true)
		tc.change(&f)
		if status, reason, message := f.ready(); status != tc.want {
			t.Errorf("%s: Ready=%s/%s %s, want %s", name, status, reason, message, tc.want)
		}
	}
}
