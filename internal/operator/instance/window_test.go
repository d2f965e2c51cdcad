package instance

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/operation"
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

// TestAbandonedUpgradeLeavesTheWindow: the window has closed when an Upgrade ends without success. Flux must not go on
// with what that one has requested. Any other change waits.
func TestAbandonedUpgradeLeavesTheWindow(t *testing.T) {
	const own = "1.2.3+5"
	values := map[string]any{"replicas": 3.0}
	both, only := operation.Overlay{Version: "2.0.0", Values: values}, operation.Overlay{Version: own, Values: values}
	for name, test := range map[string]struct {
		reason    string
		has       operation.Overlay
		abandoned []operation.Overlay
		cluster   string
		applies   int
	}{
		"version and values": {"both return", both, []operation.Overlay{both}, "berlin", 2},
		"only values":        {"the source is as it should be", only, []operation.Overlay{only}, "berlin", 1},
		"two":                {"each is taken back", both, []operation.Overlay{{Version: "3.0.0"}, both}, "berlin", 2},
		"none":               {"it succeeded, and was deleted", both, nil, "berlin", 0},
		"another version":    {"that one was not requested by it", operation.Overlay{Version: "0.9.0"}, []operation.Overlay{both}, "berlin", 0},
		"no effect": {"the labels change, and what it requested is there", operation.Overlay{Version: own},
			[]operation.Overlay{both, only}, "rome", 0},
	} {
		t.Run(name, func(t *testing.T) {
			instance := web()
			instance.Annotations = map[string]string{identity.AnnotationMaintenanceWindow: `{schedule: "0 2 * * 0", duration: 2h}`}
			has := &Observed{ClusterID: "berlin", Upgrade: &Upgrade{Version: test.has.Version, Values: test.has.Values}}
			live, err := desired(instance, has)
			if err != nil {
				t.Fatal(err)
			}
			observed := &Observed{ClusterID: test.cluster, Children: live,
				Upgrade: &Upgrade{Version: own, Abandoned: test.abandoned}}
			result := Plan(instance, observed, noon)
			if len(result.Apply) != test.applies {
				t.Errorf("%s: %d objects are applied, want %d", test.reason, len(result.Apply), test.applies)
			}
			if waits := strings.Contains(conditions(result.Status), "Suspended=True/MaintenanceWindow"); waits == (test.applies > 0) {
				t.Errorf("%s: %s", test.reason, conditions(result.Status))
			}
		})
	}
}
