package clusterjob

import (
	"context"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestAClusterIsForgottenThoughItsOperatorWrites: its contact is written again after the step has read it.
func TestAClusterIsForgottenThoughItsOperatorWrites(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	all := memory.New()
	v := view.New(all, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	defer func() { cancel(); <-done; _ = all.Close() }()
	<-v.Synced()
	contact := func() int64 {
		key := records.ClusterContactKey("c")
		revision, err := records.NewTxn("test").Put(key, api.ClusterContact{}).Commit(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	if err := v.WaitFor(ctx, contact()); err != nil {
		t.Fatal(err)
	}
	ref := api.Ref{Kind: api.KindCluster, Scope: api.Unscoped, Name: "c"}
	step, err := clusters().Gone(control.Observation{Snapshot: records.Snapshot{Reader: v.Snapshot()}, Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	contact()
	if revision, err := step.Txn.Commit(ctx, all); err != nil || revision == 0 {
		t.Errorf("%d, %v", revision, err)
	}
}
