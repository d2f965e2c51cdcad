package instance

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/health"
)

// grown returns an instance with its applied children, of which the release has an inventory of n objects.
func grown(t *testing.T, instance *appsv1alpha1.ApplicationInstance, n int, conditions ...string) *Observed {
	t.Helper()
	observed := applied(t, instance, installed(flux(conditions...)), flux("Ready=True/Succeeded"))
	var entries []any
	for i := range n {
		entries = append(entries, map[string]any{"id": "prod_web" + string(rune('a'+i%26)) + "_apps_Deployment", "v": "v1"})
	}
	live := observed.child(kindHelmRelease, "web")
	if err := unstructured.SetNestedSlice(live.Object, entries, "status", "inventory", "entries"); err != nil {
		t.Fatal(err)
	}
	return observed
}

// reading returns a reading of the objects that a plan wants.
func reading(wanted *health.Wanted, states ...appsv1alpha1.Health) map[health.Entry]health.Health {
	found := map[health.Entry]health.Health{}
	for i, entry := range wanted.Entries {
		found[entry] = health.Health{State: states[min(i, len(states)-1)], Message: "m"}
	}
	return found
}

// TestHealthIsOfTheReport: a plan wants the objects of the release read once Flux has reported on it as it is desired,
// and no reading counts before. A healthy object has no message.
func TestHealthIsOfTheReport(t *testing.T) {
	instance := web()
	observed := grown(t, instance, 2, "Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")
	result := Plan(instance, observed, noon)
	if result.Tree == nil || len(result.Tree.Entries) != 2 || result.Tree.Basis == "" || result.Status.Health != "" {
		t.Fatalf("before the reading: %+v, health %q", result.Tree, result.Status.Health)
	}
	observed.Health = reading(result.Tree, appsv1alpha1.HealthHealthy, appsv1alpha1.HealthMissing)
	instance.Status = Plan(instance, observed, noon).Status
	has := instance.Status
	if has.Health != appsv1alpha1.HealthMissing || has.Inventory[0].Health != appsv1alpha1.HealthHealthy ||
		has.Inventory[0].Message != "" || has.Inventory[1].Message != "m" {
		t.Errorf("after it: %+v", has)
	}

	instance.Generation, instance.Spec.Chart.Version = 3, "2.0.0"
	result = Plan(instance, observed, noon)
	if len(result.Apply) == 0 || result.Tree != nil || result.Status.Health != "" || result.Status.Inventory[1].Health != "" {
		t.Errorf("a newer spec: %+v has the health of the older one", result.Status)
	}
}

// TestHealthWhileFluxWorks: healthy objects don't say that a change is through.
func TestHealthWhileFluxWorks(t *testing.T) {
	instance := web()
	observed := grown(t, instance, 1, "Ready=Unknown/Progressing", "Reconciling=True/Progressing")
	result := Plan(instance, observed, noon)
	if result.Tree == nil {
		t.Fatal("nothing is read")
	}
	observed.Health = reading(result.Tree, appsv1alpha1.HealthHealthy)
	if got := Plan(instance, observed, noon).Status.Health; got != appsv1alpha1.HealthProgressing {
		t.Errorf("%s", got)
	}
}

// TestHealthOfManyObjects: the health of objects that aren't listed is not known.
func TestHealthOfManyObjects(t *testing.T) {
	instance := web()
	observed := grown(t, instance, maxInventory+1, "Ready=True/InstallSucceeded")
	result := Plan(instance, observed, noon)
	observed.Health = reading(result.Tree, appsv1alpha1.HealthHealthy)
	got := Plan(instance, observed, noon).Status
	if got.Health != appsv1alpha1.HealthUnknown || len(got.Inventory) != maxInventory {
		t.Errorf("%s of %d", got.Health, len(got.Inventory))
	}
}

// TestHealthSurvivesARestart: an operator that has read nothing yet keeps the stored health if all else is as stored,
// and writes nothing. The objects are read later than those that nothing is known of. If anything else has changed
// meanwhile, or the instance is paused, the stored health goes.
func TestHealthSurvivesARestart(t *testing.T) {
	instance := web()
	observed := grown(t, instance, 1, "Ready=True/InstallSucceeded")
	result := Plan(instance, observed, noon)
	observed.Health = reading(result.Tree, appsv1alpha1.HealthDegraded)
	instance.Status = Plan(instance, observed, noon).Status
	observed.Health = nil
	result = Plan(instance, observed, noon)
	if changed(instance.Status, result.Status) || result.Tree == nil || !result.Tree.Known {
		t.Errorf("after a restart: %+v, %+v", result.Status, result.Tree)
	}

	other := grown(t, instance, 1, "Ready=False/UpgradeFailed")
	if got := Plan(instance, other, noon); got.Status.Health != "" || got.Status.Inventory[0].Health != "" || got.Tree.Known {
		t.Errorf("another report of Flux: %+v", got.Status)
	}
	instance.Annotations = map[string]string{"apps.vworkspace.io/reconcile": "disabled"}
	got := Plan(instance, observed, noon)
	if got.Status.Health != "" || got.Status.Inventory[0].Health != "" || got.Tree != nil {
		t.Errorf("paused: %+v", got.Status)
	}
}

// TestBasisOf: any report of Flux makes another basis, and the same report the same one.
func TestBasisOf(t *testing.T) {
	instance := web()
	basis := func(conditions ...string) string {
		return basisOf(fluxObject{grown(t, instance, 1, conditions...).child(kindHelmRelease, "web")})
	}
	if one := basis("Ready=True/A"); one == "" || one != basis("Ready=True/A") || one == basis("Ready=True/B") {
		t.Errorf("%s, %s, %s", one, basis("Ready=True/A"), basis("Ready=True/B"))
	}
	if got := basisOf(fluxObject{}); got != "" {
		t.Errorf("no release: %s", got)
	}
}
