package control_test

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestAStepThatCanNotBeCommittedIsNotQuiet: its transaction refuses a task whose slot names another, and holds no
// write.
func TestAStepThatCanNotBeCommittedIsNotQuiet(t *testing.T) {
	empty := view.New(memory.New(), view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ref := api.Ref{Kind: api.KindNetwork, Scope: api.Unscoped, Name: "n"}
	task := records.Read[api.Task]{Value: &api.Task{ID: "one", Slot: "0"}}
	c := control.New(control.Deps{
		Snapshot: func() records.Snapshot { return records.Snapshot{Reader: empty.Snapshot()} },
	}, control.Kind{
		KindInfo: api.KindNetwork.Info(), Always: []api.Ref{ref}, Rests: true,
		Step: func(control.Observation) (control.Step, error) {
			txn := records.NewTxn("test").ReplaceTask(task, records.Read[string]{}, api.Task{ID: "two"})
			return control.Step{Txn: txn}, nil
		},
	})
	for range 2 {
		if dirty := c.Dirty(time.Now()); len(dirty) != 1 {
			t.Errorf("a pass finds %v", dirty)
		}
	}
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name}
	if actions, err := c.Preview(records.Snapshot{Reader: empty.Snapshot()}, object); err == nil {
		t.Errorf("the dry run says %v, and no error", actions)
	}
}
