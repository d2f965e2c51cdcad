package controlplane

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// TestAPanicIsNamed goes through every kind whose status has conditions: while its step panics about an object, the
// stored status says so, and no longer once it doesn't.
func TestAPanicIsNamed(t *testing.T) {
	walked := 0
	for _, c := range newVictim(t, memory.New()).controllers(readOnly{}) {
		shell, is := c.(*control.Shell)
		if !is || shell.Kind.Kind.Info().Status == nil {
			continue
		}
		if _, has := shell.Kind.Kind.Info().Status.FieldByName("Conditions"); !has {
			continue
		}
		walked++
		for when, ends := range map[string]func(*testing.T, *memory.Store){"cured": nil, "deleted": deleteBad} {
			t.Run(c.Name()+"/"+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { panicIsNamed(t, c.Name(), ends) })
			})
		}
	}
	if walked < 9 {
		t.Errorf("the walk met %d kinds", walked)
	}
}

func panicIsNamed(t *testing.T, kind string, ends func(*testing.T, *memory.Store)) {
	s := memory.New()
	v := newVictim(t, s)
	v.put(kind, "bad")
	var shell *control.Shell
	for _, c := range v.controllers(s) {
		if c.Name() == kind {
			shell = c.(*control.Shell)
		}
	}
	v.make = func(records.Committer) []control.Controller { return nil }
	v.run()
	step := shell.Kind.Step
	shell.Kind.Step = func(control.Observation) (control.Step, error) { panic("no such slot") }
	if _, err := shell.Reconcile(t.Context(), shell.Keys()[0]); err == nil {
		t.Error("a panic causes no error")
	}
	time.Sleep(time.Second)
	conditions, observed := stored(t, s)
	degraded := api.FindCondition(conditions, api.ConditionDegraded)
	ready := api.FindCondition(conditions, api.ConditionReady)
	if degraded == nil || degraded.Status != api.ConditionTrue || degraded.Reason != api.ReasonReconcilePanicked ||
		ready == nil || ready.Status != api.ConditionUnknown || !observed {
		t.Errorf("observed: %v, conditions %+v", observed, conditions)
	}
	before := revision(t, s)
	if _, err := shell.Reconcile(t.Context(), shell.Keys()[0]); err == nil || revision(t, s) != before {
		t.Errorf("the same panic is written again, or causes no error: %v", err)
	}
	key := shell.Keys()[0]
	shell.Kind.Step = step
	if ends != nil {
		ends(t, s)
		time.Sleep(time.Second)
		if _, err := shell.Reconcile(t.Context(), key); err != nil {
			t.Errorf("the step of the object that is gone: %v", err)
		}
		return
	}
	_, _ = shell.Reconcile(t.Context(), key)
	time.Sleep(time.Second)
	if conditions, _ := stored(t, s); named(conditions) {
		t.Errorf("after the panic: %+v", conditions)
	}
}

// deleteBad removes the objects from the store, as a deletion without a finalizer does.
func deleteBad(t *testing.T, s *memory.Store) {
	t.Helper()
	read, err := s.List(t.Context(), records.DesiredPrefix, store.ListOptions{})
	if err != nil || len(read.Entries) == 0 {
		t.Fatalf("%d objects, %v", len(read.Entries), err)
	}
	txn := records.NewTxn("test")
	for _, entry := range read.Entries {
		txn.Delete(entry.Key)
	}
	if _, err := txn.Commit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func revision(t *testing.T, s *memory.Store) int64 {
	t.Helper()
	read, err := s.List(context.Background(), records.StatusPrefix, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return read.Revision
}

func named(conditions []api.Condition) bool {
	for _, c := range conditions {
		if c.Reason == api.ReasonReconcilePanicked {
			return true
		}
	}
	return false
}

// stored returns the conditions of the only status in the store, and whether it is about the object as it is.
func stored(t *testing.T, s *memory.Store) (conditions []api.Condition, observed bool) {
	t.Helper()
	var status struct {
		Conditions         []api.Condition
		ObservedGeneration *int64
	}
	read, err := s.List(context.Background(), records.StatusPrefix, store.ListOptions{})
	if err != nil || len(read.Entries) != 1 {
		t.Fatalf("%d statuses, %v", len(read.Entries), err)
	}
	if err := json.Unmarshal(read.Entries[0].Value, &status); err != nil {
		t.Fatal(err)
	}
	return status.Conditions, status.ObservedGeneration == nil || reflect.DeepEqual(*status.ObservedGeneration, int64(1))
}
