package instance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

func TestTranslation(t *testing.T) {
	const rest = " Suspended=False/Active"
	ready := flux("Ready=True/Succeeded")
	tests := map[string]struct {
		reason          string
		release, source map[string]any
		want            string
	}{
		"nothing yet": {"Flux has not seen the release", nil, nil,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling" + rest},
		"default status": {"a new HelmRelease has observedGeneration -1 and no conditions", map[string]any{"observedGeneration": int64(-1)}, nil,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling" + rest},
		"another version": {"what is ready is the chart before", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.2+aa", "sha256:aa"), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"another digest": {"the tag has moved", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.3+aa", "sha256:aa"), artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:bb"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"this version": {"Flux has installed what the source fetched", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.3+aa", "sha256:aa"), artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:aa"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"source lags": {"the source has not seen its new tag", installed(flux("Ready=True/InstallSucceeded")), fluxAt(2, "Ready=True/Succeeded"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"no such version": {"the new chart can't be fetched", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.2+aa", "sha256:aa"),
			artifact(flux("Ready=False/OCIArtifactPullFailed"), "1.2.2@sha256:aa"),
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=False/ChartUnreachable Reconciling=False/Stable" + rest},
		"ready": {"Ready=True becomes Ready=True", installed(flux("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"upgrade failed": {"Released=False with UpgradeFailed becomes Degraded=True with HelmReleaseFailed",
			installed(flux("Released=False/UpgradeFailed", "Ready=False/UpgradeFailed")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"upgrade failed, ready": {"each condition is translated by itself", installed(flux("Released=False/UpgradeFailed", "Ready=True/Odd")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"retrying": {"a failure that Flux retries is reconciling too",
			installed(flux("Released=False/UpgradeFailed", "Ready=False/UpgradeFailed", "Reconciling=True/ProgressingWithRetry")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=True/HelmReleaseUpgrading" + rest},
		"rolled back": {"after a rollback the release is still not the wanted one",
			installed(flux("Remediated=True/RollbackSucceeded", "Released=False/UpgradeFailed", "Ready=False/RollbackSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"stalled": {"Flux has given up", flux("Stalled=True/RetriesExceeded", "Ready=False/InstallFailed", "Released=False/InstallFailed"), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"installing": {"in progress", flux("Reconciling=True/Progressing", "Ready=Unknown/Progressing"), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling" + rest},
		"upgrading": {"in progress, with a release before", installed(flux("Reconciling=True/Progressing", "Ready=Unknown/Progressing")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"working while ready": {"Flux's Ready is of the action before", installed(flux("Reconciling=True/Progressing", "Ready=True/UpgradeSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"lagging": {"what Flux says is of an older spec", installed(fluxAt(2, "Ready=True/InstallSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"fetching": {"the chart is not there yet", flux("Ready=False/SourceNotReady", "Reconciling=True/Progressing"), flux("Reconciling=True/Progressing"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling" + rest},
		"unreachable": {"the source says so", flux("Ready=False/SourceNotReady"), flux("Ready=False/OCIArtifactPullFailed"),
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=False/ChartUnreachable Reconciling=False/Stable" + rest},
		"unreachable, installed": {"what is installed stays ready", installed(flux("Ready=True/InstallSucceeded")), flux("Ready=False/OCIArtifactPullFailed"),
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"artifact failed": {"the release says so", flux("Ready=False/ArtifactFailed"), ready,
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=False/ChartUnreachable Reconciling=False/Stable" + rest},
		"not ready": {"Ready=False is not Unknown", flux("Ready=False/TestFailed"), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"not ready any more": {"it was installed", installed(flux("Ready=False/ReconcileError")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseDegraded Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			instance := web()
			result := Plan(instance, applied(t, instance, test.release, test.source), noon)
			if got := conditions(result.Status); got != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.reason, got, test.want)
			}
			if len(result.Apply)+len(result.Delete) > 0 {
				t.Errorf("%s: it applies %v and deletes %v", test.reason, result.Apply, result.Delete)
			}
		})
	}
}

func TestMessagesArePreserved(t *testing.T) {
	instance := web()
	result := Plan(instance, applied(t, instance, installed(flux("Released=False/UpgradeFailed", "Ready=False/UpgradeFailed")), flux("Ready=True/Succeeded")), noon)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Degraded"); c.Message != "flux says UpgradeFailed" {
		t.Errorf("Degraded says %q", c.Message)
	}
}

// TestDriftIsReported: another manager's change of a child is reported and left alone. Its additions don't count as
// drift.
func TestDriftIsReported(t *testing.T) {
	instance := web()
	observed := applied(t, instance, installed(flux("Ready=True/InstallSucceeded")), flux("Ready=True/Succeeded"))
	release := observed.child(kindHelmRelease, "web")
	set := func(value any, path ...string) {
		if err := unstructured.SetNestedField(release.Object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	set("10m", "spec", "timeout")
	set("b", "metadata", "labels", "a")
	if result := Plan(instance, observed, noon); meta.IsStatusConditionTrue(result.Status.Conditions, "Degraded") {
		t.Errorf("a field that another has added is drift: %s", conditions(result.Status))
	}
	set("1h", "spec", "interval")
	result := Plan(instance, observed, noon)
	c := meta.FindStatusCondition(result.Status.Conditions, "Degraded")
	if c.Reason != "Drifted" || !strings.Contains(c.Message, ".spec.interval of HelmRelease web") || len(result.Apply) > 0 {
		t.Errorf("Degraded=%s/%s %q, applies %d", c.Status, c.Reason, c.Message, len(result.Apply))
	}
	if !meta.IsStatusConditionTrue(result.Status.Conditions, "Ready") {
		t.Error("drift has nothing to do with Ready")
	}
}

// TestNoSuchVersion: if a Helm repository lacks a version, only the release reports it, quoting the chart that Flux
// makes for it.
func TestNoSuchVersion(t *testing.T) {
	instance := web()
	instance.Spec.Chart.SourceType, instance.Spec.Chart.URL = appsv1alpha1.ChartSourceHelm, "https://charts.example.org"
	const why = "no 'web' chart with version matching '1.2.3+5' found"
	status := Plan(instance, applied(t, instance, chartSays(why), flux("Ready=True/Succeeded")), noon).Status
	for _, kind := range []string{"Ready", "Degraded"} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c.Reason != "ChartUnreachable" || c.Message != why {
			t.Errorf("%s=%s/%s %q", kind, c.Status, c.Reason, c.Message)
		}
	}
}

func TestMissingValues(t *testing.T) {
	instance := web()
	instance.Spec.Values = &appsv1alpha1.Values{
		Source: appsv1alpha1.ValuesSecret, SecretRef: &appsv1alpha1.KeyRef{Name: "s", Key: "values.yaml"},
	}
	result := Plan(instance, applied(t, instance, flux("Ready=False/ValuesError"), flux("Ready=True/Succeeded")), noon)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Blocked"); c.Reason != "MissingSecret" || c.Message != "flux says ValuesError" {
		t.Errorf("Blocked=%s/%s %q", c.Status, c.Reason, c.Message)
	}
}

func TestEndpoints(t *testing.T) {
	instance := web()
	instance.Spec.Integrations = &appsv1alpha1.Integrations{
		CertManager: &appsv1alpha1.Integration{Enabled: true},
		Ingress:     &appsv1alpha1.IngressIntegration{Enabled: true, Host: "web.example.org"},
	}
	if got := Plan(instance, applied(t, instance, nil, nil), noon).Status.Endpoints; len(got) != 0 {
		t.Errorf("an application that isn't ready has endpoints: %v", got)
	}
	got := Plan(instance, applied(t, instance, flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded")), noon).Status.Endpoints
	if diff := cmp.Diff([]appsv1alpha1.Endpoint{{Name: "ingress", URL: "https://web.example.org", Type: "ingress"}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReportsInAnyOrder: the release's report may be read before the source's. That alone doesn't change the instance.
func TestReportsInAnyOrder(t *testing.T) {
	instance := web()
	waiting := Plan(instance, applied(t, instance, nil, nil), noon)
	instance.Status = waiting.Status
	release := attempted(flux("Ready=True/InstallSucceeded"), "1.2.3+aa", "sha256:aa")
	for reason, observed := range map[string]*Observed{
		"the source first":  applied(t, instance, nil, artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:aa")),
		"the release first": applied(t, instance, release, nil),
	} {
		if result := Plan(instance, observed, noon); changed(instance.Status, result.Status) {
			t.Errorf("%s: the status is written, from %s to %s: %+v", reason, conditions(waiting.Status), conditions(result.Status), result.Status.Conditions)
		}
	}
}
