package verbs

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

func TestApplyDecidesAgainOnConflict(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1","replicas":1}`))
	w.before = func() {
		object := *w.object(ref("prod", "web"))
		object.Metadata.Stamps = map[string]string{"other": "1"}
		w.put(records.ObjectKey(object.Ref()), object)
	}
	got := w.mustApply(deployment("prod", "web", `{"image":"web:2"}`))
	if got.Objects[0].Generation != 2 || w.commits.Load() != 3 {
		t.Errorf("generation %d after %d commits, want 2 after 3", got.Objects[0].Generation, w.commits.Load())
	}
	if w.object(ref("prod", "web")).Metadata.Stamps["other"] != "1" {
		t.Error("what was written meanwhile is lost")
	}
}

func TestApplyGivesUp(t *testing.T) {
	w := newWorld(t)
	w.service.opts.Store = always(func() error { return &store.ConflictError{Key: "/x", Want: 1, Have: 2} })
	_, err := w.apply(ApplyOptions{}, deployment("prod", "web", `{}`))
	wantReason(t, err, Busy)
}

type always func() error

func (a always) Commit(context.Context, store.Txn) (int64, error) { return 0, a() }

func TestConcurrentApplies(t *testing.T) {
	w := newWorld(t)
	other := New(w.service.opts) // another server on the same store
	const each = 20
	var wait sync.WaitGroup
	for i, service := range []*Service{w.service, other} {
		wait.Go(func() {
			for n := range each {
				spec := fmt.Sprintf(`{"image":"web:%d-%d"}`, i, n)
				if _, err := service.Apply(t.Context(), []api.Object{deployment("prod", "web", spec)},
					ApplyOptions{}); err != nil {
					t.Errorf("apply %d of %d: %v", n, i, err)
				}
			}
		})
	}
	wait.Wait()
	if got := w.object(ref("prod", "web")).Metadata.Generation; got != 2*each {
		t.Errorf("generation %d after %d changes: one was lost or counted twice", got, 2*each)
	}
}
