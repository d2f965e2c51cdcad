package board

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// constrained returns the object of the tasks, with a constraint or none.
func constrained(constraints ...string) api.Object {
	spec := api.DeploymentSpec{Container: api.Container{Placement: &api.Placement{Constraints: constraints}}}
	raw, _ := json.Marshal(spec)
	return api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: raw}
}

const nowhere = "node.labels.zone==nowhere"

// TestADryRunChangesNothing: after a question about an object that is not stored, a board still goes by the stored one.
func TestADryRunChangesNothing(t *testing.T) {
	t.Run("a constraint that would go", func(t *testing.T) {
		l := newHarness(t)
		l.node("n1")
		l.release("v1", api.DeploymentSpec{})
		l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(web), constrained(nowhere)) })
		l.write(func(txn *records.Txn) { txn.CreateTask(taskOfRelease("a", "v1")) })
		l.board.Refusals(l.snapshot().With([]api.Object{constrained()}))
		if txn, _ := l.board.PlaceWaiting(l.snapshot()); !txn.Empty() || len(l.board.Refusals(l.snapshot())) != 1 {
			t.Error("the task is placed against the constraint")
		}
	})
	t.Run("a constraint that would come", func(t *testing.T) {
		l := newHarness(t)
		l.node("n1")
		l.release("v1", api.DeploymentSpec{})
		l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(web), constrained()) })
		l.write(func(txn *records.Txn) {
			task := taskOfRelease("a", "v1")
			task.Node = "n1"
			txn.CreateTask(task)
		})
		task := l.snapshot().Task("a").Value
		for range 2 { // both orders
			if why := l.board.Misplaced(l.snapshot().With([]api.Object{constrained(nowhere)}), task)("n1"); why == "" {
				t.Error("the dry run doesn't say that the task would have to go")
			}
			if why := l.board.Misplaced(l.snapshot(), task)("n1"); why != "" {
				t.Error("the task has to go by a constraint that isn't stored:", why)
			}
		}
	})
}

// TestALeftoverNeedsNothingOfAnObjectMadeAgain: the release of its number is that of the object made later, whose ports
// and volumes the leftover never had.
func TestALeftoverNeedsNothingOfAnObjectMadeAgain(t *testing.T) {
	l := newHarness(t)
	object := constrained()
	object.Metadata.UID = "second"
	l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(web), object) })
	l.release("v1", api.DeploymentSpec{Ports: []string{"80:80"}, Container: api.Container{Volumes: []string{"data:/d"}}})
	needs := func(uid string) int {
		task := taskOfRelease("a", "v1")
		task.OwnerUID = uid
		demand := l.board.demands.of(l.snapshot(), &task)
		return len(demand.Ports) + len(demand.at(&task))
	}
	if n := needs("second"); n != 2 {
		t.Errorf("a task of the object needs %d ports and volumes, want 2", n)
	}
	if n := needs("first"); n != 0 {
		t.Errorf("a leftover needs %d ports and volumes of the object made again", n)
	}
}

// broken is a snapshot in which the read of one key panics.
type broken struct {
	records.Reader
	key string
}

func (b broken) Get(key string) (view.Record, bool) {
	if key == b.key {
		panic("the record is broken")
	}
	return b.Reader.Get(key)
}

// TestAPanicLeavesNothingBehind: after one, in a reader of changes or in the midst of a decision, a board has what a
// new one reads.
func TestAPanicLeavesNothingBehind(t *testing.T) {
	for name, use := range map[string]func(l *harness){
		"a change that can't be read": func(l *harness) {
			l.board.Refusals(records.Snapshot{Reader: broken{l.snapshot(), records.TaskKey("t1")}})
		},
		"the same, of who asks for nodes": func(l *harness) {
			l.board.onNodes(records.Snapshot{Reader: broken{l.snapshot(), records.NodeKey("n2")}})
		},
		"a decision": func(l *harness) {
			l.board.at(l.snapshot(), func(_ records.Snapshot, ledger *placement.Ledger) {
				ledger.RemoveTask("t0")
				panic("the plan is broken")
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.node("n1")
			l.release("v1", api.DeploymentSpec{})
			for i := range 3 {
				l.write(func(txn *records.Txn) { txn.CreateTask(taskOfRelease(fmt.Sprint("t", i), "v1")) })
				if i == 0 {
					l.board.Refusals(l.snapshot())
				}
			}
			l.node("n2")
			func() {
				defer func() {
					if recover() == nil {
						t.Error("nothing panics")
					}
				}()
				use(l)
			}()
			if want, got := contents(l, New()), contents(l, l.board); !reflect.DeepEqual(want, got) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
