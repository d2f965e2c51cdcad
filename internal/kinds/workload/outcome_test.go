package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
)

// TestLateCommitsFillNoSlotTwice: any one commit gets no answer and is applied after one or more later ones, or only at
// the end. The controller retries from what it sees, which lacks the commit. There are never more pods than the spec
// and the surge ask for, and in the end as many as the spec says.
func TestLateCommitsFillNoSlotTwice(t *testing.T) {
	for _, kind := range []api.Kind{api.KindDeployment, api.KindStatefulSet} {
		for _, commits := range []int{1, 2, 1000} {
			t.Run(fmt.Sprintf("%s/after %d commits", kind, commits), func(t *testing.T) {
				for nth := 1; !t.Failed(); nth++ {
					story := newLateStory(t, kind, nth, storefault.Late(commits))
					story.liveThrough()
					if story.commits < nth {
						return
					}
				}
			})
		}
	}
}

// lateStory is a harness in which one of the controller's commits has a fate.
type lateStory struct {
	*harness
	late    *storefault.Store
	nth     int
	commits int
	site    string
}

func newLateStory(t *testing.T, kind api.Kind, nth int, fate storefault.Fate) *lateStory {
	s := &lateStory{harness: newHarness(t), nth: nth}
	s.ref = api.Ref{Kind: kind, Scope: "prod", Name: "web"}
	s.late = storefault.New(s.store, func(txn store.Txn) storefault.Fate {
		if s.commits++; s.commits == nth {
			s.site = txn.Site
			return fate
		}
		return storefault.Answered
	})
	s.c = newController(control.Deps{Snapshot: s.snapshot, Store: s.late, Sealer: s.sealer, Now: s.c.Now}, kind,
		s.liveness)
	return s
}

// liveThrough scales and rolls a workload whose first pods fail: they are replaced again and again, and the status
// reports it once.
func (s *lateStory) liveThrough() {
	s.Helper()
	s.fails["v1"] = true
	s.applyAs(1, replicas(2, "web:1"))
	for range 12 {
		s.work(2)
	}
	s.fails["v1"] = false
	for generation, spec := range []api.DeploymentSpec{replicas(3, "web:1"), replicas(3, "web:2"),
		replicas(2, "web:2")} {
		s.applyAs(int64(generation+2), spec)
		s.settleLate()
	}
	s.late.Flush()
	s.settleLate()
	if got := len(s.live()); got != 2 {
		s.Errorf("commit %d (%s) came late: %d pods are there, want 2", s.nth, s.site, got)
	}
}

// applyAs stores a spec with a generation.
func (s *lateStory) applyAs(generation int64, spec api.DeploymentSpec) {
	s.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		s.Fatal(err)
	}
	object := api.Object{Kind: s.ref.Kind, Scope: s.ref.Scope, Name: s.ref.Name, Spec: raw}
	object.Metadata.Generation = generation
	s.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(s.ref), object) })
}

func (s *lateStory) settleLate() {
	s.Helper()
	for idle := 0; idle < 3; {
		if idle++; s.work(4) {
			idle = 0
		}
	}
}

// work reconciles once, as soon as the view shows the store's state, and lets scheduler and agent work. It reports
// whether there may be more to do, and fails if more than most pods are wanted at once.
func (s *lateStory) work(most int) bool {
	s.Helper()
	result, err := s.c.Reconcile(context.Background(), control.Key(s.ref))
	if err != nil && !errors.Is(err, store.ErrUnknownOutcome) && !errors.Is(err, store.ErrConflict) {
		s.Fatal(err)
	}
	page, listed := s.late.List(context.Background(), "/none", store.ListOptions{Limit: 1})
	if listed != nil {
		s.Fatal(listed)
	}
	s.await(page.Revision)
	if got := len(s.live()); got > most {
		s.Fatalf("commit %d (%s) came late: %d pods are wanted at once, want %d at most", s.nth, s.site, got, most)
	}
	placed, acted := s.place(), s.runAgent()
	s.now = s.now.Add(max(result.After, 50*time.Millisecond))
	return err != nil || result.Revision > 0 || result.After > 0 || placed.Revision > 0 || acted ||
		!s.reconcilesAt.IsZero()
}
