package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

// TestAPassRemembersWhatIsTrue: whatever happens, a pass that remembers finds the same as one that decides about every
// object again, and the same as controllers and a scheduler that have only just begun.
func TestAPassRemembersWhatIsTrue(t *testing.T) {
	remembered := 0
	rapid.Check(t, func(rt *rapid.T) {
		l := newCrowd(t)
		for _, ref := range l.refs {
			l.declares(rt, ref)
		}
		l.works(rt)
		events := l.events()
		events[""] = func(rt *rapid.T) { remembered += l.agrees(rt) }
		rt.Repeat(events)
	})
	if remembered == 0 {
		t.Error("nothing was ever remembered")
	}
}

// agrees compares a pass with decisions made again, and returns about how many objects it remembered: an
// environment is hashed once for each decision.
func (l *crowd) agrees(t rapid.TB) (remembered int) {
	t.Helper()
	for kind, c := range l.controllers {
		before := l.sealer.hashed
		want := l.dirty(c)
		decided := l.sealer.hashed
		got := names(c.Dirty(l.now))
		remembered += decided - before - (l.sealer.hashed - decided)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: the pass differs from what is decided again:\n%s", kind, diff)
		}
		if fresh := l.fresh(c); fresh != nil {
			if diff := cmp.Diff(l.dirty(fresh), got); diff != "" {
				t.Fatalf("%s: the pass differs from what a new controller decides:\n%s", kind, diff)
			}
		}
	}
	return remembered
}

// TestAPassRemembersNothingFleeting: what a decision depends on without reading it of the store, as the room that other
// workloads leave on nodes, and when a node was last heard of, is asked for again in each pass.
func TestAPassRemembersNothingFleeting(t *testing.T) {
	big := replicas(1, "web:1")
	big.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: "60Mi"}} // a node has room for one
	small := replicas(1, "web:1")
	for name, test := range map[string]struct {
		rests  func(l *crowd, home, other string) // nothing is to be done
		change func(l *crowd)                     // something is
	}{
		"a drained node's pod has nowhere to go, until another leaves": {
			func(l *crowd, home, _ string) { l.declare(home, api.NodeSpec{Availability: api.NodeDrained}) },
			func(l *crowd) { l.stores(db, small) },
		},
		"a rebalance's destination is full, until another pod leaves": {
			func(l *crowd, _, other string) {
				moves := api.Moves{Tasks: map[string]string{l.snapshot().TasksOf(web)[0].Value.ID: other}}
				l.write(func(txn *records.Txn) { txn.Put(records.MovesKey(web), moves) })
			},
			func(l *crowd) { l.stores(db, small) },
		},
		"a node is silent, and is noticed to have been for longer": {
			func(l *crowd, home, other string) {
				l.stores(db, small)
				l.rounds(50, db)
				l.fallsSilent(home)
			},
			func(l *crowd) {
				l.notices()
				l.now = l.now.Add(25 * time.Second)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newCrowd(t)
			l.stores(web, big)
			l.stores(db, big)
			l.rounds(50, l.refs...)
			home, other := l.snapshot().TasksOf(web)[0].Value.Node, l.snapshot().TasksOf(db)[0].Value.Node
			if home == "" || other == "" || home == other {
				t.Fatalf("the pods are on %q and %q", home, other)
			}
			test.rests(l, home, other)
			l.rounds(50, l.refs...)
			if l.agrees(t); len(l.controllers[web.Kind].Dirty(l.now)) > 0 {
				t.Fatal("there is something to do already")
			}
			test.change(l)
			l.rounds(50, db)
			l.agrees(t)
			if !names(l.controllers[web.Kind].Dirty(l.now))[web.Name] {
				t.Error("there is nothing to do")
			}
		})
	}
}

// dirty returns what a pass finds that remembers nothing.
func (l *crowd) dirty(c *controller) map[string]bool {
	return names(controltest.WithoutMemory(c.Shell).Dirty(l.now))
}

func names(keys []reconciler.Key) map[string]bool {
	out := map[string]bool{}
	for _, key := range keys {
		out[key.Name] = true
	}
	return out
}

// fresh returns a controller that has only just begun, over a scheduler that has; nil while a node is silent, since it
// would not know for how long, and while it can't decrypt what another one has decrypted before. A silent node whose
// record is gone counts while a task is on it.
func (l *crowd) fresh(c *controller) *controller {
	s := l.snapshot()
	if l.sealer.lost {
		return nil
	}
	for _, node := range s.Nodes() {
		if !s.Alive(node.Value.ID) {
			return nil
		}
	}
	for _, task := range s.Tasks() {
		if node := task.Value.Node; node != "" && !s.Alive(node) {
			return nil
		}
	}
	deps := c.Deps
	deps.Board = board.New()
	out := newController(deps, c.kind, owner.NewLiveness(0, 0, c.Now))
	out.since = c.since
	return out
}

// TestAPassOverWhatRestsDecidesNothing: what has not changed is not decided about again, and anything that changes
// makes it so.
func TestAPassOverWhatRestsDecidesNothing(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.settle()
	decides := func() bool {
		t.Helper()
		before := l.sealer.hashed
		if dirty := l.c.Dirty(l.now); len(dirty) > 0 {
			t.Fatalf("%v is dirty", dirty)
		}
		return l.sealer.hashed > before
	}
	if !decides() {
		t.Error("the first pass decides nothing")
	}
	l.now = l.now.Add(10 * time.Minute) // the first one may have been before a failure could be forgotten
	decides()
	for _, change := range []struct {
		name    string
		happens func()
		want    bool
	}{
		{"nothing", func() {}, false},
		{"time", func() { l.now = l.now.Add(time.Hour) }, false},
		{"the clock is set back", func() { l.now = l.now.Add(-2 * time.Hour) }, true},
		{"another object", func() {
			l.put(api.Object{Kind: api.KindJob, Scope: "prod", Name: "other",
				Spec: []byte(`{}`)})
		}, false},
		{"a status", func() { l.reportAgain() }, true},
		{"a node", func() { l.join("n2") }, true},
		{"a config value", func() {
			l.write(func(txn *records.Txn) {
				txn.Put(records.ConfigAppPrefix("prod", "other")+"KEY",
					[]byte("sealed:1"))
			})
		}, false},
	} {
		change.happens()
		if got := decides(); got != change.want {
			t.Errorf("%s: decided again is %v", change.name, got)
		}
	}
}

// reportAgain has the agent report the same of a task once more.
func (l *harness) reportAgain() {
	l.Helper()
	status := l.snapshot().TaskStatus(l.live()[0].ID)
	l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(status.Value.ID), *status.Value) })
}

// TestAClockThatWasSetBackIsAwaited: what is counted from the instant at which the release became the target is decided
// again when that is past once more.
func TestAClockThatWasSetBackIsAwaited(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.settle()
	turned := l.status().Rollout.TurnedAt
	l.now = turned.Add(-2 * time.Hour)
	if after := l.looks().After; after != 2*time.Hour {
		t.Errorf("reconciles again after %s, want when it is %s", after, turned)
	}
}
