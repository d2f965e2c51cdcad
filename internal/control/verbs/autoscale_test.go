package verbs

import (
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

const (
	scaledSpec = `{"image":"web:1","autoscale":{"min":2,"max":8,"cpu_target":70}}`
	plainSpec  = `{"image":"web:1"}`
)

var cpu = FieldManager{Manager: api.ManagerAutoscaler}

func (w *world) scaleTo(n int, by FieldManager) error {
	_, err := w.service.Scale(w.t.Context(), Target{Name: "web"}, n, by)
	return err
}

// wantReplicas checks how many there are and who has set them.
func (w *world) wantReplicas(reason string, n int, holder string) {
	w.t.Helper()
	object := *w.object(ref("prod", "web"))
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil {
		w.t.Fatal(err)
	}
	if got := spec.ReplicaCount(); got != n || ReplicasHolder(object) != holder {
		w.t.Errorf("%s: %d replicas held by %q, want %d by %q", reason, got, ReplicasHolder(object), n, holder)
	}
}

func wantRefused(t *testing.T, err error, reason Reason, says string) {
	t.Helper()
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != reason || !strings.Contains(refused.Error()+refused.Next, says) {
		t.Errorf("got %v, want %s with %q", err, reason, says)
	}
}

// TestAutoscaleComes: the same apply hands the current count, within the bounds, over to the autoscaler.
func TestAutoscaleComes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		before string
		want   int
	}{
		"within": {"nothing starts or stops", `{"image":"web:1","replicas":5}`, 5},
		"above":  {"no more than max", `{"image":"web:1","replicas":20}`, 8},
		"below":  {"no fewer than min", `{"image":"web:1"}`, 2},
		"none":   {"a stopped deployment starts", `{"image":"web:1","replicas":0}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(deployment("prod", "web", tc.before))
			w.mustApply(deployment("prod", "web", scaledSpec))
			w.wantReplicas(tc.reason, tc.want, "")
			if again := w.mustApply(deployment("prod", "web",
				scaledSpec)).Objects[0]; again.Action != api.ActionUnchanged {
				t.Errorf("the same file again is %+v", again)
			}
		})
	}
}

// TestAutoscaleStays: its manifest resets nothing, and users change the bounds, not the count.
func TestAutoscaleStays(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", scaledSpec))
	if err := w.scaleTo(6, cpu); err != nil {
		t.Fatal(err)
	}
	w.wantReplicas("the autoscaler scaled", 6, "")
	w.mustApply(deployment("prod", "web", strings.Replace(scaledSpec, "web:1", "web:2", 1)))
	w.wantReplicas("another image", 6, "")
	wantRefused(t, w.scaleTo(3, FieldManager{}), FieldOwned, "autoscale.min")
	wantRefused(t, w.scaleTo(9, FieldManager{ForceConflicts: true}), Invalid, "between 2 and 8")
	wantRefused(t, w.scaleTo(9, cpu), Invalid, "between 2 and 8")
	if err := w.scaleTo(6, FieldManager{}); err != nil {
		t.Errorf("the count there is: %v", err)
	}
	w.mustApply(deployment("prod", "web", strings.Replace(scaledSpec, `"max":8`, `"max":4`, 1)))
	w.wantReplicas("narrower bounds hold at once", 4, "")
}

// TestAutoscaleByForce: a user who takes replicas over keeps them until the manifest hands them back.
func TestAutoscaleByForce(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", scaledSpec))
	if err := w.scaleTo(5, FieldManager{ForceConflicts: true}); err != nil {
		t.Fatal(err)
	}
	w.wantReplicas("by force", 5, api.ManagerApply)
	wantRefused(t, w.scaleTo(6, cpu), FieldOwned, "set it to 5")
	w.mustApply(deployment("prod", "web", scaledSpec))
	w.wantReplicas("handed back", 5, "")
	if err := w.scaleTo(6, cpu); err != nil {
		t.Error(err)
	}
}

// TestAutoscaleGoes: the count stays, and the next manager that sets it meets no conflict.
func TestAutoscaleGoes(t *testing.T) {
	for name, next := range map[string]func(*world) error{
		"scale": func(w *world) error { return w.scaleTo(3, FieldManager{}) },
		"apply": func(w *world) error {
			_, err := w.apply(ApplyOptions{}, deployment("prod", "web", `{"image":"web:1","replicas":3}`))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(deployment("prod", "web", scaledSpec))
			if err := w.scaleTo(6, cpu); err != nil {
				t.Fatal(err)
			}
			w.mustApply(deployment("prod", "web", plainSpec))
			w.wantReplicas("the count was not changed", 6, "")
			wantRefused(t, w.scaleTo(7, cpu), Invalid, "no autoscale")
			if err := next(w); err != nil {
				t.Fatal(err)
			}
			w.wantReplicas(name, 3, api.ManagerApply)
		})
	}
}

func TestAutoscaleAndReplicasAreNotDeclaredTogether(t *testing.T) {
	w := newWorld(t)
	_, err := w.apply(ApplyOptions{},
		deployment("prod", "web", `{"image":"web:1","replicas":3,"autoscale":{"min":1,"max":2,"cpu_target":50}}`))
	wantRefused(t, err, Invalid, "exclude each other")
}

// TestAutoscaleAndAFixedPort: a workload that can only run once must not be scaled.
func TestAutoscaleAndAFixedPort(t *testing.T) {
	w := newWorld(t)
	_, err := w.apply(ApplyOptions{},
		deployment("prod", "web", `{"image":"web:1","ports":["80:80"],"autoscale":{"min":1,"max":2,"cpu_target":50}}`))
	wantRefused(t, err, Invalid, "80")
}

// TestASyncTakesAForcedScaleBack: its next apply hands the count to the autoscaler.
func TestASyncTakesAForcedScaleBack(t *testing.T) {
	w := newWorld(t)
	sync := w.asSync(trustedSync)
	for range 2 {
		if _, err := w.apply(sync, deployment("prod", "web", scaledSpec)); err != nil {
			t.Fatal(err)
		}
		w.wantReplicas("the sync applied", w.countOr(2), "")
		if err := w.scaleTo(6, FieldManager{ForceConflicts: true}); err != nil {
			t.Fatal(err)
		}
		w.wantReplicas("by force", 6, api.ManagerApply)
	}
}

// countOr returns the replicas of the deployment.
func (w *world) countOr(none int) int {
	spec, err := api.DecodeSpec[api.DeploymentSpec](*w.object(ref("prod", "web")))
	if err != nil || spec.Replicas == nil {
		return none
	}
	return *spec.Replicas
}
