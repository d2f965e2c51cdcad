package instance

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"tend.dev/tend/internal/operator/identity"
)

// TestMaintenanceWindow: noon is a Wednesday; the window is on Sundays from 02:00 to 04:00.
func TestMaintenanceWindow(t *testing.T) {
	const sundays = `{schedule: "0 2 * * 0", duration: 2h}`
	sunday := time.Date(2026, 11, 29, 2, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		reason, window string
		now            time.Time
		fresh, changed bool
		upgrading      bool
		applies        int
		after          time.Duration
		want           []string
	}{
		"closed":              {"a change waits until Sunday", sundays, noon, false, true, false, 0, 86 * time.Hour, []string{"Suspended=True/MaintenanceWindow", "Ready=Unknown/Reconciling", "Reconciling=False/Stable", "Blocked=False/Unblocked"}},
		"a second before":     {"it still waits", sundays, sunday.Add(-time.Second), false, true, false, 0, time.Second, []string{"Suspended=True/MaintenanceWindow"}},
		"open":                {"the window has opened", sundays, sunday, false, true, false, 2, 0, []string{"Suspended=False/Active", "Ready=Unknown/Reconciling", "Reconciling=True/HelmReleaseUpgrading"}},
		"closed again":        {"the window's end", sundays, sunday.Add(2 * time.Hour), false, true, false, 0, 166 * time.Hour, []string{"Suspended=True/MaintenanceWindow"}},
		"nothing to change":   {"what is as it should be waits for nothing", sundays, noon, false, false, false, 0, 0, []string{"Suspended=False/Active", "Ready=True/HelmReleaseReady"}},
		"first installation":  {"there is nothing to protect", sundays, noon, true, true, false, 2, 0, []string{"Suspended=False/Active"}},
		"upgrade in progress": {"it was started in the window", sundays, noon, false, true, true, 2, 0, []string{"Suspended=False/Active"}},
		"bad window":          {"what can't be read is closed, until a person corrects it", "on Sundays", noon, false, true, false, 0, 0, []string{"Suspended=True/MaintenanceWindow", "Blocked=True/ValidationFailed"}},
		"bad window, at rest": {"it is reported before it is needed", "on Sundays", noon, false, false, false, 0, 0, []string{"Suspended=False/Active", "Blocked=True/ValidationFailed", "Ready=True/HelmReleaseReady"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			instance := web()
			instance.Annotations = map[string]string{identity.AnnotationMaintenanceWindow: test.window}
			observed := &Observed{ClusterID: "berlin"}
			if !test.fresh {
				release := attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.3+aa", "sha256:aa")
				observed = applied(t, instance, release, artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:aa"))
			}
			observed.Upgrade = &Upgrade{Running: test.upgrading}
			if test.changed {
				instance.Spec.Chart.Version = "2.0.0"
				instance.Spec.Values.Inline.Raw = []byte(`{"replicas":3}`)
			}
			result := Plan(instance, observed, test.now)
			if len(result.Apply) != test.applies || result.After != test.after {
				t.Errorf("%s: %d objects are applied, again after %s, want %d and %s", test.reason, len(result.Apply), result.After, test.applies, test.after)
			}
			have := conditions(result.Status)
			for _, want := range test.want {
				if !strings.Contains(have, want) {
					t.Errorf("%s: %s, want %s", test.reason, have, want)
				}
			}
			suspended := meta.FindStatusCondition(result.Status.Conditions, "Suspended")
			if test.after > 0 && !strings.Contains(suspended.Message, "opens at 20") {
				t.Errorf("%s: Suspended does not say when the window opens: %q", test.reason, suspended.Message)
			}
		})
	}
}
