package workload

import (
	"encoding/json"
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// everything returns the keys that are kept under the object's name.
func (l *harness) everything() (keys []string) {
	page, err := l.store.List(l.Context(), "/", store.ListOptions{})
	if err != nil {
		l.Fatal(err)
	}
	for _, entry := range page.Entries {
		switch entry.Key {
		case records.NodeKey("n1"), records.AliveKey("n1"), records.ImageStatusKey("n1", web): // the agent's own
		case records.PlacingKey: // of all
		default:
			keys = append(keys, entry.Key)
		}
	}
	return keys
}

func TestDeletionLeavesNothing(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.settle()
	l.apply(replicas(3, "web:2"))
	l.settle()
	frozen := l.live()[0].Slot
	l.write(func(txn *records.Txn) { txn.Put(records.FrozenKey(web, frozen), api.Frozen{Slot: frozen}) })
	l.settle()
	l.delete()
	l.looks()
	if c := l.condition(api.ConditionProgressing); c.Reason != "Deleting" || len(l.live()) != 0 {
		t.Errorf("after the first look: %+v, %d tasks are wanted", c, len(l.live()))
	}
	if !l.snapshot().Object(web).Exists() {
		t.Fatal("the object went before its containers")
	}
	l.settle()
	if left := l.everything(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A crash anywhere in a deletion does no harm: the next reconcile continues from whatever is left.
func TestDeletionGoesOnFromAnywhere(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.settle()
	l.delete()
	for looks := range 20 {
		if !l.snapshot().Object(web).Exists() {
			return
		}
		l.c = newController(l.c.Deps, api.KindDeployment, l.liveness) // a new process
		if looks%2 == 0 {
			l.looks()
		} else {
			l.runAgent()
		}
	}
	t.Errorf("left: %v", l.everything())
}

// Defect: a deletion that panicked if only the containers of release commands were left, and so never ended.
func TestDeletionTakesReleaseCommandsWithIt(t *testing.T) {
	for name, does := range map[string]command{"fails": breaks, "runs": hangs} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.does["v1-command"] = does
			l.apply(released(2, "web:1"))
			l.untilHeld()
			l.delete()
			l.looks()
			l.is(api.ConditionProgressing, api.ConditionTrue, "Deleting", "")
			l.is(api.ConditionReady, api.ConditionFalse, "Deleting", "")
			l.settle()
			if left := l.everything(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Defect: a deletion that takes away the claim by which another object holds the name.
func TestAnothersClaimStays(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(0, "web:1"))
	l.settle()
	other := api.Ref{Kind: "statefulset", Scope: web.Scope, Name: web.Name}
	l.delete()
	l.write(func(txn *records.Txn) { txn.Put(records.NameKey(web), other) })
	l.settle()
	if l.snapshot().Object(web).Exists() {
		t.Error("the object did not go")
	}
	if claim := l.snapshot().NameOwner(web); !claim.Exists() || *claim.Value != other {
		t.Errorf("the claim is %+v", claim)
	}
}

func TestDeletionOfVeryMuchTakesSeveralCommits(t *testing.T) {
	const marks = control.MaxLeftovers + 500
	l := newHarness(t)
	l.apply(replicas(0, "web:1"))
	l.settle()
	l.write(func(txn *records.Txn) {
		for i := range marks {
			slot := fmt.Sprintf("f%d", i)
			txn.Put(records.FrozenKey(web, slot), api.Frozen{Slot: slot})
		}
	})
	l.delete()
	if result := l.looks(); result.After == 0 || !l.snapshot().Object(web).Exists() {
		t.Fatalf("the first commit: %+v", result)
	}
	l.looks()
	if left := l.everything(); len(left) > 0 {
		t.Errorf("%d keys are left, such as %s", len(left), left[0])
	}
}

// Defect: an object that can no longer be read can't be deleted either.
func TestUnreadableObjectsCanBeDeleted(t *testing.T) {
	for name, spoil := range map[string]func(*harness){
		"spec": func(l *harness) {
			object := *l.snapshot().Object(web).Value
			object.Spec = json.RawMessage(`{"image": 7}`)
			l.put(object)
		},
		"environment": func(l *harness) { l.config("apps/prod/web/A", "1"); l.sealer.lost = true },
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(replicas(2, "web:1"))
			l.settle()
			spoil(l)
			l.delete()
			l.settle()
			if l.snapshot().Object(web).Exists() || len(l.snapshot().TasksOf(web)) > 0 {
				t.Errorf("left: %v", l.everything())
			}
		})
	}
}

// The pass over the view finds a deletion that was interrupted.
func TestDirtyFindsADeletionToFinish(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(0, "web:1"))
	l.settle()
	l.delete()
	if got := l.c.Dirty(l.now); len(got) != 1 || got[0] != control.Key(web) {
		t.Errorf("dirty: %v", got)
	}
}
