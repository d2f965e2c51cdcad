package workload

import (
	"encoding/json"
	"maps"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// newSet is a harness whose workload is a statefulset with a claim, settled on n ordinals.
func newSet(t *testing.T, n int) *harness {
	t.Helper()
	l := newHarness(t)
	l.c = newController(l.c.Deps, api.KindStatefulSet, l.liveness)
	l.ref = data
	l.applySet(n, "web:1")
	l.settle()
	return l
}

var data = api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "data"}

func (l *harness) applySet(n int, image string) {
	l.Helper()
	spec := api.StatefulSetSpec{DeploymentSpec: replicas(n, image),
		VolumeClaims: []api.VolumeClaim{{Name: "data", MountPath: "/data"}}}
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	object := api.Object{Kind: data.Kind, Scope: data.Scope, Name: data.Name,
		Metadata: api.Metadata{Finalizers: []string{api.FinalizerTasks}}}
	if old := l.snapshot().Object(data); old.Exists() {
		object = *old.Value
	}
	object.Spec = raw
	object.Metadata.Generation++
	l.put(object)
}

// ordinals returns the tasks that fill the slots, by ordinal.
func (l *harness) ordinals() map[string]api.Task {
	out := map[string]api.Task{}
	for _, task := range l.snapshot().TasksOf(data) {
		if id := l.snapshot().Slot(data, task.Value.Slot); id.Exists() && *id.Value == task.Value.ID {
			out[task.Value.Slot] = *task.Value
		}
	}
	return out
}

// Ordinals are named, attempts are counted from 1, and a replacement takes over the slot in one commit.
func TestOrdinalsChangeHands(t *testing.T) {
	l := newSet(t, 2)
	first := l.ordinals()
	if len(first) != 2 || first["0"].Attempt != 1 || first["1"].Slot != "1" {
		t.Fatalf("%+v", first)
	}
	l.applySet(2, "web:2")
	l.settle()
	second := l.ordinals()
	for slot, task := range second {
		if task.ID == first[slot].ID || task.Release != "v2" || l.snapshot().Task(first[slot].ID).Exists() {
			t.Errorf("ordinal %s: %+v after %+v", slot, task, first[slot])
		}
	}
	handed := false
	for _, txn := range l.commits {
		deleted, created := false, false
		for _, op := range txn.Do {
			deleted = deleted || op.Delete && op.Key == records.TaskKey(first["1"].ID)
			created = created || !op.Delete && op.Key == records.TaskKey(second["1"].ID)
		}
		if deleted != created {
			t.Errorf("commit %s has one half of a handover", txn.Site)
		}
		handed = handed || deleted && created
	}
	if !handed {
		t.Error("ordinal 1 never changed hands")
	}
	if release := l.snapshot().Release(data, "v2"); !release.Exists() {
		t.Error("there is no release v2")
	} else if spec, err := api.DecodeWorkload(data.Kind, release.Value.Spec); err != nil || len(spec.Claims) != 1 ||
		spec.Replicas != nil {
		t.Errorf("the release keeps %+v (%v)", spec, err)
	}
}

// A changed claim is a new release; nothing else is rolled by applying again.
func TestClaimsAreOfTheRelease(t *testing.T) {
	l := newSet(t, 1)
	l.applySet(1, "web:1")
	l.settle()
	if l.status().Release != "v1" {
		t.Errorf("the same spec made %s", l.status().Release)
	}
	object := *l.snapshot().Object(data).Value
	spec := api.StatefulSetSpec{DeploymentSpec: replicas(1, "web:1"),
		VolumeClaims: []api.VolumeClaim{{Name: "data", MountPath: "/elsewhere"}}}
	object.Spec, _ = json.Marshal(spec)
	l.put(object)
	l.settle()
	if l.status().Release != "v2" {
		t.Errorf("a moved claim left it on %s", l.status().Release)
	}
}

// Only a nonce above the task's own has volumes removed, once, and of no other ordinal.
func TestRebootstrapWipesOneOrdinalOnce(t *testing.T) {
	l := newSet(t, 2)
	first := l.ordinals()
	wiped := map[string]bool{}
	l.watchWipes(wiped)
	l.put(stamped(*l.snapshot().Object(data).Value, api.StampRebootstrap+"1", "1"))
	l.settle()
	second := l.ordinals()
	if len(wiped) != 1 || !wiped[first["1"].ID] {
		t.Errorf("wiped %v, want %s alone", wiped, first["1"].ID)
	}
	if second["0"].ID != first["0"].ID || second["1"].ID == first["1"].ID || second["1"].Bootstrap != "1" {
		t.Errorf("%+v after %+v", second, first)
	}
	clear(wiped)
	l.put(stamped(*l.snapshot().Object(data).Value, api.StampRestart, "1"))
	l.settle()
	l.put(stamped(*l.snapshot().Object(data).Value, api.StampRebootstrap+"1",
		"")) // a stamp that got lost requests nothing
	l.settle()
	l.applySet(1, "web:1")
	l.settle()
	l.applySet(2, "web:1")
	l.settle()
	if len(wiped) != 0 {
		t.Errorf("a restart, a lost stamp or scaling wiped %v", wiped)
	}
}

// A deletion doesn't carry out a pending rebootstrap: a deletion keeps volumes.
func TestDeletionWipesNothing(t *testing.T) {
	l := newSet(t, 2)
	wiped := map[string]bool{}
	l.watchWipes(wiped)
	object := stamped(*l.snapshot().Object(data).Value, api.StampRebootstrap+"1", "1")
	object.Metadata.DeletedAt = &l.now
	l.put(object)
	for range 20 {
		if _, err := l.look(); err != nil {
			t.Fatal(err)
		}
		l.runAgent()
	}
	if l.snapshot().Object(data).Exists() || len(wiped) != 0 {
		t.Errorf("object there: %t, wiped %v", l.snapshot().Object(data).Exists(), wiped)
	}
}

// A deletion that includes the volumes removes those of every ordinal.
func TestDeletionWipesWhereItIsAskedTo(t *testing.T) {
	l := newSet(t, 2)
	tasks, wiped := l.ordinals(), map[string]bool{}
	l.watchWipes(wiped)
	object := stamped(*l.snapshot().Object(data).Value, api.StampWipe, "true")
	object.Metadata.DeletedAt = &l.now
	l.put(object)
	for range 20 {
		if _, err := l.look(); err != nil {
			t.Fatal(err)
		}
		l.runAgent()
	}
	if l.snapshot().Object(data).Exists() || len(wiped) != 2 || !wiped[tasks["0"].ID] || !wiped[tasks["1"].ID] {
		t.Errorf("object there: %t, wiped %v", l.snapshot().Object(data).Exists(), wiped)
	}
}

// watchWipes records each task whose volumes are to be removed.
func (l *harness) watchWipes(into map[string]bool) {
	l.after = func() {
		for _, task := range l.snapshot().TasksOf(data) {
			if task.Value.Wipe {
				into[task.Value.ID] = true
			}
		}
	}
}

// TestADeletionWipesWhatOrdinalsLeft: a pod that is removed with its volumes takes along those that lie on its node
// since the set was scaled down. No other removal does.
func TestADeletionWipesWhatOrdinalsLeft(t *testing.T) {
	for name, wipe := range map[string]bool{"with its volumes": true, "without": false} {
		l := newSet(t, 3)
		l.applySet(1, "web:1")
		l.settle()
		node := l.ordinals()["0"].Node
		l.write(func(txn *records.Txn) {
			txn.Put(records.HomeKey("tend-prod-data-data-2"), node).Put(records.HomeKey("tend-prod-data-data-1"), "elsewhere")
		})
		slots := map[string]bool{}
		l.after = func() {
			for _, task := range l.snapshot().TasksOf(data) {
				slots[task.Value.WipeSlots] = true
			}
		}
		if wipe {
			l.put(stamped(*l.snapshot().Object(data).Value, api.StampWipe, "true"))
		}
		l.remove()
		l.settle()
		if slots["2"] != wipe || slots["1,2"] || slots["1"] {
			t.Errorf("%s: the tasks wiped %v", name, slots)
		}
		want := map[string]string{"tend-prod-data-data-1": "elsewhere"} // the others are gone
		if !wipe {
			want["tend-prod-data-data-0"], want["tend-prod-data-data-2"] = node, node
		}
		if homes := l.snapshot().Homes(); l.snapshot().Object(data).Exists() || !maps.Equal(homes, want) {
			t.Errorf("%s: volumes known after the deletion: %v, want %v", name, homes, want)
		}
	}
}

// TestTwoPodsOfANodeEndTogether: each is to wipe what other ordinals left on the node, and both are forgotten at once.
func TestTwoPodsOfANodeEndTogether(t *testing.T) {
	l := newSet(t, 3)
	l.applySet(2, "web:1")
	l.settle()
	node := l.ordinals()["0"].Node
	l.write(func(txn *records.Txn) {
		txn.Put(records.HomeKey("tend-prod-data-data-2"), node).Put(records.HomeKey("tend-prod-data-data-3"), node)
	})
	l.put(stamped(*l.snapshot().Object(data).Value, api.StampWipe, "true"))
	l.remove()
	l.looks()
	l.runAgent() // it has stopped both
	l.looks()
	l.write(func(txn *records.Txn) { // and removed them
		for _, task := range l.snapshot().TasksOf(data) {
			if task.Value.WipeSlots != "2,3" || task.Value.Node != node {
				t.Errorf("%+v", task.Value)
			}
			txn.Delete(records.TaskStatusKey(task.Value.ID))
		}
	})
	l.settle()
	if homes := l.snapshot().Homes(); l.snapshot().Object(data).Exists() || len(homes) > 0 {
		t.Errorf("after the deletion: volumes known %v", homes)
	}
}
