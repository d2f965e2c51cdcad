package workload

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var db = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "db"}

// dependency stores what web depends on, ready or not.
func (l *harness) dependency(ready api.ConditionStatus) {
	l.Helper()
	object := api.Object{Kind: db.Kind, Scope: db.Scope, Name: db.Name, Spec: []byte(`{"image":"db:1"}`),
		Metadata: api.Metadata{Generation: 1}}
	if !l.snapshot().Object(db).Exists() {
		l.put(object)
	}
	l.write(func(txn *records.Txn) {
		txn.Put(records.StatusKey(db), api.WorkloadStatus{
			ObservedGeneration: 1, ObservedRevision: l.snapshot().Object(db).Modified, Replicas: 1,
			Conditions: []api.Condition{{Type: api.ConditionReady, Status: ready}},
		})
	})
}

func depending(n int, image string) api.DeploymentSpec {
	spec := replicas(n, image)
	spec.DependsOn = &api.DependsOn{Workloads: []string{"deployment/db"}}
	return spec
}

// TestStartsAfterWhatItDependsOn: the first slot of a release waits; healing and scaling don't.
func TestStartsAfterWhatItDependsOn(t *testing.T) {
	l := newHarness(t)
	l.apply(depending(1, "web:1"))
	l.settle()
	if got := l.running(); got != "" {
		t.Errorf("%q run before what they depend on exists", got)
	}
	l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonWaitingForDependency,
		"v1 waits for deployment/prod/db (it does not exist)")
	l.dependency(api.ConditionFalse)
	l.settle()
	l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonWaitingForDependency,
		"deployment/prod/db (0 of 1 replicas ready)")
	l.dependency(api.ConditionTrue)
	l.settle()
	if got := l.running(); got != "v1" {
		t.Errorf("%q run once it is ready", got)
	}
	l.dependency(api.ConditionFalse)
	l.apply(depending(2, "web:1"))
	l.settle()
	if got := l.running(); got != "v1 v1" {
		t.Errorf("%q run: a scale waits for no other object", got)
	}
	l.apply(depending(2, "web:2"))
	l.settle()
	if got := l.running(); got != "v1 v1" {
		t.Errorf("%q run: the next release waits", got)
	}
	l.dependency(api.ConditionTrue)
	l.settle()
	if got := l.running(); got != "v2 v2" {
		t.Errorf("%q run in the end", got)
	}
}

// TestCommandsComeAfterDependencies: a migration needs its database.
func TestCommandsComeAfterDependencies(t *testing.T) {
	l := newHarness(t)
	spec := depending(1, "web:1")
	spec.Release = &api.ReleaseHooks{Command: []string{"migrate"}}
	l.apply(spec)
	l.settle()
	l.ranOnce("")
	l.dependency(api.ConditionTrue)
	l.settle()
	l.ranOnce("v1-command")
}

// TestAChangedDependencyWakesItsDependents: and it wakes nothing else.
func TestAChangedDependencyWakesItsDependents(t *testing.T) {
	l := newHarness(t)
	l.apply(depending(1, "web:1"))
	l.dependency(api.ConditionTrue)
	for key, value := range map[string]any{
		records.StatusKey(db): l.snapshot().WorkloadStatus(db).Value,
		records.ObjectKey(db): l.snapshot().Object(db).Value,
	} {
		found := false
		for _, woken := range l.c.Affected(l.snapshot(), view.Change{Key: key, New: value}) {
			found = found || woken == control.Key(web)
		}
		if !found {
			t.Errorf("a change of %s enqueues nothing", key)
		}
	}
	if woken := l.c.Affected(l.snapshot(), view.Change{Key: records.StatusKey(web),
		New: &api.WorkloadStatus{}}); len(woken) > 0 {
		t.Errorf("its own status wakes %v", woken)
	}
}
