package owner

import (
	"context"
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestNoTasksAreKeptOfOwnersWithout: of objects that come and go, nothing is kept.
func TestNoTasksAreKeptOfOwnersWithout(t *testing.T) {
	s := memory.New()
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	defer func() { cancel(); <-ended; _ = s.Close() }()
	var sets taskSets
	reads := func(ref api.Ref, txn *records.Txn, want int) {
		t.Helper()
		revision, err := txn.Commit(t.Context(), s)
		if err == nil {
			err = v.WaitFor(t.Context(), revision)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := sets.of(records.Snapshot{Reader: v.Snapshot()}, ref); len(got) != want {
			t.Fatalf("%s has %d tasks, want %d", ref, len(got), want)
		}
	}
	for i := range 100 {
		id := fmt.Sprint("t", i)
		task := api.Task{ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "web-" + id, Slot: id, Release: "v1",
			Class:   api.ClassKeep,
			Desired: api.DesiredRunning}
		reads(task.Owner(), records.NewTxn("test").CreateTask(task), 1)
		if len(sets.sets) != 1 {
			t.Fatalf("%d owners are kept, want the one that has a task", len(sets.sets))
		}
		reads(task.Owner(), records.NewTxn("test").Delete(records.TaskKey(id)), 0)
	}
	if len(sets.sets) > 0 {
		t.Errorf("%d owners without tasks are kept", len(sets.sets))
	}
}
