package board

import (
	"encoding/json"
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestManyHomes: tasks with more volumes than one commit takes are placed by several.
func TestManyHomes(t *testing.T) {
	l := newHarness(t)
	l.node("n1")
	ref := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	const tasks = 1000
	l.write(func(txn *records.Txn) {
		spec := api.StatefulSetSpec{}
		for i := range 10 {
			claim := api.VolumeClaim{Name: fmt.Sprint("c", i), MountPath: fmt.Sprint("/c", i)}
			spec.VolumeClaims = append(spec.VolumeClaims, claim)
		}
		raw, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		release := api.Release{ID: "v1", Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw}
		txn.Put(records.ReleaseKey(ref, "v1"), release)
	})
	l.write(func(txn *records.Txn) {
		for i := range tasks {
			txn.CreateTask(api.Task{ID: fmt.Sprintf("t%04d", i), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
				Slot: fmt.Sprint(i), Release: "v1", Desired: api.DesiredRunning, CreatedAt: epoch})
		}
	})
	for commits := 1; ; commits++ {
		txn, more := l.board.PlaceWaiting(l.snapshot())
		l.commit(txn)
		if !more {
			break
		}
		if commits == 5 {
			t.Fatal("it doesn't end")
		}
	}
	if on := l.on(); len(on) != tasks || len(l.snapshot().Homes()) != 10*tasks {
		t.Errorf("%d tasks have a node, %d volumes a home", len(on), len(l.snapshot().Homes()))
	}
}
