package instance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// TestPlanIsStable: a second plan, from the status of the first one, writes nothing and reports nothing.
func TestPlanIsStable(t *testing.T) {
	for name, status := range map[string]map[string]any{
		"new": nil, "ready": installed(flux("Ready=True/InstallSucceeded")), "failed": flux("Released=False/InstallFailed", "Ready=False/InstallFailed"),
	} {
		instance := web()
		observed := applied(t, instance, status, flux("Ready=True/Succeeded"))
		first := Plan(instance, observed, noon)
		if len(first.Events) == 0 || !changed(instance.Status, first.Status) {
			t.Errorf("%s: the first plan reports nothing", name)
		}
		instance.Status = first.Status
		second := Plan(instance, observed, noon.Add(time.Hour))
		if changed(instance.Status, second.Status) || len(second.Events)+len(second.Apply)+len(second.Delete) > 0 ||
			second.AddFinalizer {
			t.Errorf("%s: the second plan is not empty: %s", name, cmp.Diff(first.Status, second.Status))
		}
	}
}

// TestTimeOfTransition: a condition's time is that of the last change of its status; the status's own time is that of
// its last change.
func TestTimeOfTransition(t *testing.T) {
	instance := web()
	instance.Status = Plan(instance, applied(t, instance, flux("Ready=Unknown/Progressing"), flux("Ready=True/Succeeded")), noon).Status
	later := noon.Add(time.Minute)
	result := Plan(instance, applied(t, instance, flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded")), later)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Ready"); !c.LastTransitionTime.Time.Equal(later) {
		t.Errorf("Ready changed at %s, want %s", c.LastTransitionTime, later)
	}
	if c := meta.FindStatusCondition(result.Status.Conditions, "Blocked"); !c.LastTransitionTime.Time.Equal(noon) {
		t.Errorf("Blocked changed at %s, want %s", c.LastTransitionTime, noon)
	}
	var events []string
	for _, e := range result.Events {
		events = append(events, e.Reason)
	}
	if diff := cmp.Diff([]string{"HelmReleaseReady", "Stable"}, events); diff != "" {
		t.Error(diff)
	}
}

// TestEventsAreThoseOfTheStatus: the Event of a transition is the one that another process would write from the stored
// conditions, also if only a reason has changed. Otherwise a restart writes a second one.
func TestEventsAreThoseOfTheStatus(t *testing.T) {
	instance := web()
	instance.Status = Plan(instance, applied(t, instance, flux("Ready=Unknown/Progressing"), flux("Ready=True/Succeeded")), noon).Status
	upgrading := installed(flux("Ready=Unknown/Progressing", "Reconciling=True/Progressing"))
	result := Plan(instance, applied(t, instance, upgrading, flux("Ready=True/Succeeded")), noon.Add(time.Minute))
	if len(result.Events) == 0 {
		t.Fatal("no reason has changed")
	}
	for _, event := range result.Events {
		c := meta.FindStatusCondition(result.Status.Conditions, event.Condition.Type)
		if diff := cmp.Diff(c, &event.Condition); diff != "" {
			t.Errorf("%s: %s", event.Reason, diff)
		}
	}
}

func TestSpecialCases(t *testing.T) {
	holder := web()
	holder.Spec = appsv1alpha1.ApplicationInstanceSpec{Mode: appsv1alpha1.ModePlaceholder}
	elsewhere := web()
	elsewhere.Spec.Release.Namespace = "other"
	paused := web()
	paused.Annotations = map[string]string{identity.AnnotationReconcile: identity.ReconcileDisabled}
	tests := map[string]struct {
		reason   string
		instance *appsv1alpha1.ApplicationInstance
		observed *Observed
		want     string
		applies  int
	}{
		"placeholder": {"there is nothing to install", holder, &Observed{},
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=True/Placeholder Reconciling=False/Stable Suspended=False/Active", 0},
		"elsewhere": {"a release is in its instance's namespace", elsewhere, &Observed{},
			"Blocked=True/ValidationFailed Degraded=False/Recovered Ready=False/ValidationFailed Reconciling=False/Stable Suspended=False/Active", 0},
		"paused": {"nothing is applied", paused, &Observed{}, "Suspended=True/ReconcilePaused", 0},
		"no Flux": {"it waits for Flux", web(), &Observed{Absent: []schema.GroupVersionKind{kindHelmRelease}},
			"Blocked=True/MissingDependencies Degraded=False/Recovered Ready=False/MissingDependencies Reconciling=False/Stable Suspended=False/Active", 0},
		"new": {"both children are applied", web(), &Observed{},
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling Suspended=False/Active", 2},
		"conflict": {"another manager is named", web(), &Observed{Refused: []Refusal{{Kind: "HelmRelease", Name: "web", Conflicts: []Conflict{{Manager: "kubectl", Field: ".spec.interval"}}}}},
			"Blocked=True/FieldConflict Degraded=False/Recovered Ready=False/FieldConflict Reconciling=False/Stable Suspended=False/Active", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result := Plan(test.instance, test.observed, noon)
			if got := conditions(result.Status); got != test.want || len(result.Apply) != test.applies {
				t.Errorf("%s: applies %d\n got %s\nwant %s", test.reason, len(result.Apply), got, test.want)
			}
		})
	}
}

func TestConflictNamesManagerAndField(t *testing.T) {
	result := Plan(web(), &Observed{
		Refused: []Refusal{{Kind: "HelmRelease", Name: "web", Conflicts: []Conflict{{Manager: "kubectl", Field: ".spec.interval"}}}},
	}, noon)
	c := meta.FindStatusCondition(result.Status.Conditions, "Blocked")
	if !strings.Contains(c.Message, "kubectl") || !strings.Contains(c.Message, ".spec.interval of HelmRelease web") {
		t.Errorf("Blocked says %q", c.Message)
	}
}

// TestDeletion follows a deletion: the HelmRelease first, then the source, then the finalizer.
func TestDeletion(t *testing.T) {
	instance := web()
	observed := applied(t, instance, nil, nil)
	at := metav1.NewTime(noon)
	instance.DeletionTimestamp = &at
	foreign := object(kindHelmRepository, "prod", "web-source")
	observed.Children = append(observed.Children, foreign)

	result := Plan(instance, observed, noon)
	if len(result.Delete) != 1 || result.Delete[0].GetKind() != "HelmRelease" || result.RemoveFinalizer ||
		conditions(result.Status) != "Deleting=True/Uninstalling" {
		t.Fatalf("first: deletes %v, %s", result.Delete, conditions(result.Status))
	}
	observed.child(kindHelmRelease, "web").SetDeletionTimestamp(&at)
	result = Plan(instance, observed, noon)
	if len(result.Delete) != 0 || result.RemoveFinalizer || conditions(result.Status) != "Deleting=True/WaitingForChildResources" {
		t.Fatalf("while Flux uninstalls: deletes %v, %s", result.Delete, conditions(result.Status))
	}
	observed.Children = slices.DeleteFunc(observed.Children, func(c *unstructured.Unstructured) bool {
		return c.GetKind() == "HelmRelease"
	})
	result = Plan(instance, observed, noon)
	if len(result.Delete) != 1 || result.Delete[0].GetKind() != "OCIRepository" || result.RemoveFinalizer {
		t.Fatalf("after the release: deletes %v", result.Delete)
	}
	observed.Children = []*unstructured.Unstructured{foreign}
	if result = Plan(instance, observed, noon); !result.RemoveFinalizer || len(result.Delete) > 0 {
		t.Fatalf("at the end: deletes %v, finalizer removed: %v", result.Delete, result.RemoveFinalizer)
	}
	instance.Finalizers = nil
	if result = Plan(instance, observed, noon); result.AddFinalizer || result.RemoveFinalizer {
		t.Error("an instance that is being deleted gets no finalizer")
	}
}

// TestForeignController: an object with a child's name that something else controls is neither applied nor deleted.
func TestForeignController(t *testing.T) {
	instance := web()
	observed := applied(t, instance, nil, nil)
	yes := true
	observed.child(kindHelmRelease, "web").SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Other", Name: "x", UID: "u-9", Controller: &yes},
	})
	result := Plan(instance, observed, noon)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Blocked"); c.Reason != "ForeignObject" ||
		len(result.Apply)+len(result.Delete) > 0 {
		t.Errorf("Blocked=%s/%s, applies %d", c.Status, c.Reason, len(result.Apply))
	}
}

// TestANewInstanceHasFewEvents: a new instance with which nothing is the matter has no Event about that, also after a
// restart of the operator. One that has become well again has.
func TestANewInstanceHasFewEvents(t *testing.T) {
	reasons := func(events []Event) string {
		var all []string
		for _, e := range events {
			all = append(all, e.Condition.Type+"/"+e.Reason)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	instance := web()
	result := Plan(instance, &Observed{}, noon)
	if got, want := reasons(result.Events), "Ready/Reconciling Reconciling/HelmReleaseInstalling"; got != want {
		t.Errorf("at first: %q, want %q", got, want)
	}
	if got, want := reasons(eventsOf(result.Status.Conditions)), reasons(result.Events); got != want {
		t.Errorf("after a restart: %q, want %q", got, want)
	}
	instance.Status = result.Status
	failed := applied(t, instance, flux("Ready=False/InstallFailed", "Released=False/InstallFailed", "Stalled=True/RetriesExceeded"),
		flux("Ready=True/Succeeded"))
	instance.Status = Plan(instance, failed, noon.Add(time.Minute)).Status
	ready := applied(t, instance, flux("Ready=True/UpgradeSucceeded"), flux("Ready=True/Succeeded"))
	result = Plan(instance, ready, noon.Add(2*time.Minute))
	want := "Degraded/Recovered Ready/HelmReleaseReady"
	if got := reasons(result.Events); got != want {
		t.Errorf("well again: %q, want %q", got, want)
	}
	if got := reasons(eventsOf(result.Status.Conditions)); got != want+" Reconciling/Stable" {
		t.Errorf("well again, after a restart: %q, want %q", got, want)
	}
}
