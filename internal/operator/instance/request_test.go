package instance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
)

func annotated(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// TestRequestIsPassedOnOnce: a request reaches the source and the release, once for each value.
func TestRequestIsPassedOnOnce(t *testing.T) {
	instance := web()
	observed := applied(t, instance, flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded"))
	if result := Plan(instance, observed, noon); len(result.Request.Objects) != 0 {
		t.Fatalf("nobody asked, and %v is asked for", result.Request)
	}
	instance.Annotations = annotated(identity.AnnotationRequestedAt, "1", identity.AnnotationForceAt, "0")
	result := Plan(instance, observed, noon)
	want := annotated(identity.AnnotationRequestedAt, "1", identity.AnnotationResetAt, "1")
	if diff := cmp.Diff(want, result.Request.Annotations); diff != "" || len(result.Request.Objects) != 2 {
		t.Errorf("%d objects: %s", len(result.Request.Objects), diff)
	}
	if len(result.Apply) != 0 {
		t.Error("a request changed the children")
	}
	instance.Status = result.Status
	if result = Plan(instance, observed, noon); len(result.Request.Objects) != 0 {
		t.Error("it is passed on twice")
	}
	instance.Annotations = annotated(identity.AnnotationRequestedAt, "2", identity.AnnotationForceAt, "2")
	if got := Plan(instance, observed, noon).Request.Annotations[identity.AnnotationForceAt]; got != "2" {
		t.Errorf("the release is forced at %q", got)
	}
	instance.Spec.Timeout = "10m"
	if result = Plan(instance, observed, noon); len(result.Request.Objects) != 0 ||
		result.Status.LastHandledReconcileAt == "2" {
		t.Error("Flux is asked before the change is applied")
	}
	instance.Annotations[identity.AnnotationMaintenanceWindow] = `{schedule: "0 2 * * *", duration: 1h}`
	if result = Plan(instance, observed, noon); len(result.Request.Objects) != 0 ||
		result.Status.LastHandledReconcileAt == "2" {
		t.Error("Flux is asked outside of the window")
	}
}

// TestTakeOverIsAskedForOnce: the annotation undoes drift and takes over conflicting fields of the manager that it
// names, once.
func TestTakeOverIsAskedForOnce(t *testing.T) {
	instance := web()
	observed := applied(t, instance, flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded"))
	if err := unstructured.SetNestedField(observed.Children[1].Object, "1h", "spec", "interval"); err != nil {
		t.Fatal(err)
	}
	if result := Plan(instance, observed, noon); len(result.Apply)+len(result.TakeOver) != 0 {
		t.Fatalf("nobody asked, and %v is taken over", result.TakeOver)
	}
	instance.Annotations = annotated(identity.AnnotationTakeOver, "kubectl-edit, helm")
	result := Plan(instance, observed, noon)
	if diff := cmp.Diff([]string{"kubectl-edit", "helm"}, result.TakeOver); diff != "" || len(result.Apply) != 1 ||
		result.Status.LastHandledTakeOver != "" {
		t.Errorf("applies %d, handled %q: %s", len(result.Apply), result.Status.LastHandledTakeOver, diff)
	}
	observed.put(result.Apply[0])
	result = Plan(instance, observed, noon)
	if len(result.Apply) != 0 || result.Status.LastHandledTakeOver != "kubectl-edit, helm" {
		t.Errorf("applies %d, handled %q", len(result.Apply), result.Status.LastHandledTakeOver)
	}
	instance.Status = result.Status
	if err := unstructured.SetNestedField(observed.Children[1].Object, "1h", "spec", "interval"); err != nil {
		t.Fatal(err)
	}
	if result = Plan(instance, observed, noon); len(result.Apply) != 0 {
		t.Error("it is taken over twice")
	}
	instance.Annotations = nil
	if result = Plan(instance, observed, noon); result.Status.LastHandledTakeOver != "" {
		t.Error("what was handled is not forgotten when the annotation goes")
	}
}

// TestConflictNamesTheCommands: the message of a conflict has the field, its manager, and both solutions as commands.
func TestConflictNamesTheCommands(t *testing.T) {
	observed := applied(t, web(), nil, nil)
	observed.Refused = []Refusal{{Kind: "HelmRelease", Name: "web", GiveUp: "kubectl patch …", Conflicts: []apply.Conflict{
		{Manager: "kubectl-edit", Field: ".spec.interval"}, {Manager: "helm", Field: ".spec.timeout"},
	}}}
	for _, c := range Plan(web(), observed, noon).Status.Conditions {
		if c.Type != "Blocked" {
			continue
		}
		for _, want := range []string{
			".spec.interval of HelmRelease web is set by kubectl-edit",
			"kubectl annotate appinst web -n prod --overwrite apps.vworkspace.io/take-over=helm,kubectl-edit", "To give them up: kubectl patch …",
		} {
			if !strings.Contains(c.Message, want) {
				t.Errorf("%q lacks %q", c.Message, want)
			}
		}
	}
}

// TestUnmetDependency: an instance that depends on a missing one is blocked, and nothing is applied.
func TestUnmetDependency(t *testing.T) {
	instance := withOptionsOf(t, "dependsOn: [{name: db}]")
	result := Plan(instance, &Observed{Unmet: "spec.dependsOn names db: there is no such instance"}, noon)
	if got := conditions(result.Status); len(result.Apply) != 0 || !strings.Contains(got, "Blocked=True/MissingDependencies") || !strings.Contains(got, "Ready=False") {
		t.Errorf("applies %d: %s", len(result.Apply), got)
	}
}

// TestDependencyNotReady: an instance that waits for another release is neither failed nor degraded.
func TestDependencyNotReady(t *testing.T) {
	instance := web()
	for name, release := range map[string]map[string]any{
		"first": flux("Ready=False/DependencyNotReady"), "later": installed(flux("Ready=False/DependencyNotReady")),
	} {
		observed := applied(t, instance, release, flux("Ready=True/Succeeded"))
		got := conditions(Plan(instance, observed, noon).Status)
		for _, want := range []string{"Ready=Unknown/DependencyNotReady", "Reconciling=True", "Degraded=False", "Blocked=False"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s lacks %s", name, got, want)
			}
		}
	}
}

// TestMissingReference: an entry of valuesFrom that Flux can't read blocks the instance, with the kind that is missing.
func TestMissingReference(t *testing.T) {
	instance := withOptionsOf(t, "valuesFrom: [{kind: Secret, name: a}, {kind: ConfigMap, name: b}]")
	for kind, want := range map[string]string{"Secret": "Blocked=True/MissingSecret", "ConfigMap": "Blocked=True/MissingConfigMap"} {
		release := flux("Ready=False/ValuesError")
		release["conditions"].([]any)[0].(map[string]any)["message"] = "could not resolve " + kind + " chart values reference 'prod/b'"
		got := conditions(Plan(instance, applied(t, instance, release, flux("Ready=True/Succeeded")), noon).Status)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
