package verbs

import (
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestADryRunWaitsForNoVerb, and no verb for it: it decides beside a verb that is in the middle of its commit.
func TestADryRunWaitsForNoVerb(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	committing, release := make(chan struct{}), make(chan struct{})
	w.before = func() { close(committing); <-release }
	ended := make(chan error, 1)
	go func() {
		_, err := w.service.Scale(t.Context(), TargetOf(ref("prod", "web")), 2, FieldManager{})
		ended <- err
	}()
	<-committing
	applied, err := w.apply(ApplyOptions{DryRun: true}, deployment("prod", "web", `{"image":"web:2"}`))
	if err != nil || !applied.DryRun || applied.Objects[0].Action != api.ActionConfigured {
		t.Errorf("apply: %+v, %v", applied, err)
	}
	deleted, err := w.service.DeleteWith(t.Context(), TargetOf(ref("prod", "web")), DeleteOptions{DryRun: true})
	if err != nil || !deleted.DryRun {
		t.Errorf("delete: %+v, %v", deleted, err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if stored := w.object(ref("prod", "web")); !strings.Contains(string(stored.Spec), "web:1") ||
		stored.Metadata.Deleting() {
		t.Errorf("a dry run changed %s", stored.Spec)
	}
}

// TestValidationIsOutsideTheTurn of verbs, for what is stored as it was declared. What another manager's fields are
// added to is checked as it becomes.
func TestValidationIsOutsideTheTurn(t *testing.T) {
	within, outside := 0, 0
	var w *world
	w = newWorld(t, func(o *Options) {
		o.Validate = func(object api.Object) []api.FieldError {
			if len(w.service.turn) > 0 {
				within++
			} else {
				outside++
			}
			return api.ValidateObject(object)
		}
	})
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`), deployment("prod", "api", `{"image":"api:1"}`))
	if within != 0 || outside != 2 {
		t.Errorf("%d objects were checked within the turn and %d before it, want 0 and 2", within, outside)
	}
	other := ApplyOptions{FieldManager: FieldManager{Manager: "other", Actor: "other"}}
	if _, err := w.apply(other, deployment("prod", "web", `{"env":{"A":"1"}}`)); err != nil {
		t.Fatal(err)
	}
	within = 0
	w.mustApply(deployment("prod", "web", `{"image":"web:2"}`))
	if within != 1 {
		t.Errorf("what another manager's fields are added to was checked %d times, want once", within)
	}
	_, err := w.apply(ApplyOptions{}, deployment("prod", "web", `{"image":"web:2","dns":["x"]}`))
	wantReason(t, err, Invalid)
}

// TestFaultsAreBounded: an error lists some, and counts all.
func TestFaultsAreBounded(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Validate = api.ValidateObject })
	var wrong, clashing []api.Object
	for i := range 150 {
		wrong = append(wrong, deployment("prod", fmt.Sprintf("a%d", i), `{}`))
		clashing = append(clashing, deployment("prod", fmt.Sprintf("b%d", i), `{"image":"x","ports":["3000:80"]}`))
	}
	_, err := w.apply(ApplyOptions{}, wrong...)
	if refused := wantReason(t, err, Invalid); len(refused.Errors) != mostFaults ||
		!strings.HasPrefix(refused.Detail, "150 faults") {
		t.Errorf("%d of: %s", len(refused.Errors), refused.Detail)
	}
	_, err = w.apply(ApplyOptions{}, clashing...)
	if refused := wantReason(t, err, PortTaken); len(refused.Errors) != mostFaults ||
		!strings.HasPrefix(refused.Detail, "149 conflicts") {
		t.Errorf("%d of: %s", len(refused.Errors), refused.Detail)
	}
}

// TestAskedPortsAreBounded: a few bytes of ranges stand for many ports.
func TestAskedPortsAreBounded(t *testing.T) {
	w := newWorld(t)
	var many []api.Object
	for i := range maxAskedPorts/api.MaxPublishedPorts + 1 {
		spec := fmt.Sprintf(`{"image":"x","ports":["127.0.0.%d:1000-%d:1000-%d"]}`, i+1, 999+api.MaxPublishedPorts,
			999+api.MaxPublishedPorts)
		many = append(many, deployment("prod", fmt.Sprintf("a%d", i), spec))
	}
	_, err := w.apply(ApplyOptions{}, many...)
	wantReason(t, err, TooLarge)
	w.mustApply(many[1:]...)
}
