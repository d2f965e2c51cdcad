package owner

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// harness is a store with some nodes, a Liveness that is notified of their heartbeats, and a clock.
type harness struct {
	testing.TB
	store *memory.Store
	view  *view.View
	l     *Liveness
	now   time.Time
}

func newHarness(t *testing.T, nodes ...string) *harness {
	h := &harness{TB: t, store: memory.New(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	h.l = NewLiveness(0, 0, func() time.Time { return h.now })
	h.view = view.New(h.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = h.store.Close() })
	<-h.view.Synced()
	for _, node := range nodes {
		h.write(func(txn *records.Txn) { txn.Put(records.NodeKey(node), api.NodeStatus{ID: node}) })
		h.alive(node, true)
	}
	return h
}

func (h *harness) write(fill func(*records.Txn)) {
	h.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	revision, err := txn.Commit(context.Background(), h.store)
	if err == nil {
		err = h.view.WaitFor(context.Background(), revision)
	}
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) alive(node string, alive bool) {
	h.Helper()
	h.write(func(txn *records.Txn) {
		if alive {
			txn.Put(records.AliveKey(node), "now")
		} else {
			txn.Delete(records.AliveKey(node))
		}
	})
	h.l.Notice(view.Change{Key: records.AliveKey(node), Revision: h.view.Revision(), Deleted: !alive})
}

func (h *harness) of(node string) Absence {
	return h.l.Of(records.Snapshot{Reader: h.view.Snapshot()}, node)
}

func TestANodeIsLostAfterTheTimeout(t *testing.T) {
	h := newHarness(t, "a", "b", "c")
	if got := h.of("a"); got != (Absence{}) {
		t.Errorf("%+v of a node that answers", got)
	}
	h.alive("a", false)
	h.now = h.now.Add(20 * time.Second)
	if got := h.of("a"); got != (Absence{Left: 10 * time.Second}) {
		t.Errorf("%+v after 20 s", got)
	}
	h.now = h.now.Add(10 * time.Second)
	if got := h.of("a"); got != (Absence{Lost: true}) {
		t.Errorf("%+v after 30 s", got)
	}
	if got := h.of(""); got != (Absence{}) {
		t.Errorf("%+v of a task without a node", got)
	}
	h.alive("a", true)
	if got := h.of("a"); got != (Absence{}) {
		t.Errorf("%+v once it is back", got)
	}
}

func TestALapseBeginsWithItsOwnEvent(t *testing.T) {
	h := newHarness(t, "a")
	h.alive("a", false)
	h.now = h.now.Add(20 * time.Second)
	h.alive("a", true)
	h.alive("a", false)
	h.now = h.now.Add(20 * time.Second)
	if got := h.of("a"); got.Lost || got.Left != 10*time.Second {
		t.Errorf("%+v; the heartbeat in between was forgotten", got)
	}
}

// A heartbeat that was seen to end counts from when it was given last.
func TestTheTimeOfTheLastHeartbeatCounts(t *testing.T) {
	h := newHarness(t, "a", "b", "c")
	h.l = NewLiveness(30*time.Second, 5*time.Second, func() time.Time { return h.now })
	h.alive("a", false)
	if got := h.of("a"); got != (Absence{Left: 5 * time.Second}) {
		t.Errorf("%+v as the heartbeat ends", got)
	}
	h.now = h.now.Add(2 * time.Second)
	h.alive("b", false)
	h.now = h.now.Add(3 * time.Second)
	if got := h.of("a"); !got.Lost || got.Together != 2 {
		t.Errorf("%+v when b has gone too; want it held", got)
	}
	h.l.Begin(h.view.Revision())
	if got := h.of("a"); got.Lost || got.Left != 30*time.Second {
		t.Errorf("%+v in a term that saw no heartbeat", got)
	}
}

// The first term of a server knows nothing of how long a node has been silent.
func TestATermWaitsAWholeTimeout(t *testing.T) {
	h := newHarness(t, "a")
	h.alive("a", false)
	h.now = h.now.Add(time.Minute)
	h.l.Begin(h.view.Revision())
	if got := h.of("a"); got.Lost || got.Left != 30*time.Second {
		t.Errorf("%+v at the begin of a term", got)
	}
	h.now = h.now.Add(30 * time.Second)
	if got := h.of("a"); !got.Lost {
		t.Errorf("%+v after a timeout", got)
	}
}

// TestATermGoesOnFromWhatItsServerSaw: while it followed, it saw the heartbeat end as the leader of then did.
func TestATermGoesOnFromWhatItsServerSaw(t *testing.T) {
	never := func() time.Time { return time.Time{} }
	for name, test := range map[string]struct {
		reason  string
		former  func() time.Time
		follows bool
		back    bool // before the term
		behind  int64
		want    Absence
	}{
		"it followed":                 {"25 s before the end was the last heartbeat", never, true, false, 0, Absence{Left: 2 * time.Second}},
		"it has just started to lead": {"nobody saw the heartbeat end", never, false, false, 0, Absence{Left: 30 * time.Second}},
		"an etcd of others":           {"it may have gone on while no server was there", nil, true, false, 0, Absence{Left: 30 * time.Second}},
		"the node is back":            {"it answers", never, true, true, 0, Absence{}},
		"the view is behind": {"it may have answered before the claim", never, true, false, 10,
			Absence{Left: untilCurrent}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, "a")
			h.l = NewLiveness(30*time.Second, 5*time.Second, func() time.Time { return h.now })
			h.l.FormerLeader = test.former
			if test.follows {
				h.l.Follow()
			}
			h.alive("a", false)
			h.now = h.now.Add(3 * time.Second)
			if test.back {
				h.alive("a", true)
			}
			h.l.Begin(h.view.Revision() + test.behind)
			if got := h.of("a"); got != test.want {
				t.Errorf("%+v, want %+v: %s", got, test.want, test.reason)
			}
		})
	}
}

// A term that hears late of a heartbeat that ended, as one whose server was far from the store, waits as long: the
// node may be about to find another server. A heartbeat that ends within the term counts from when it was given last,
// also before the term.
func TestATermWaitsAWholeTimeoutAlsoForALateEvent(t *testing.T) {
	h := newHarness(t, "a", "b")
	h.l = NewLiveness(30*time.Second, 5*time.Second, func() time.Time { return h.now })
	h.l.FormerLeader = func() time.Time { return time.Time{} }
	for node, left := range map[string]time.Duration{"a": 29 * time.Second, "b": 5 * time.Second} {
		claim := h.view.Revision()
		h.write(func(txn *records.Txn) { txn.Delete(records.AliveKey(node)) })
		ended := h.view.Revision()
		if node == "a" {
			claim = ended + 1 // its heartbeat had ended by then
			h.write(func(txn *records.Txn) { txn.Put(records.ClusterKey, "claimed") })
		}
		h.l.Begin(claim)
		h.now = h.now.Add(time.Second)
		h.l.Notice(view.Change{Key: records.AliveKey(node), Revision: ended, Deleted: true})
		if got := h.of(node); got != (Absence{Left: left}) {
			t.Errorf("%s a second into a term: %+v, want %s left", node, got, left)
		}
	}
}

// A new leader of the store renews the heartbeats of all nodes. That of a node that didn't write it afterwards is as
// old as the former leader at least.
func TestAHeartbeatThatOnlyTheStoreRenewed(t *testing.T) {
	for name, test := range map[string]struct {
		reason         string
		written, ended time.Duration // after the former leader's end
		left           time.Duration
	}{
		"silent since": {"it went with the leader", -time.Minute, 27 * time.Second, 3 * time.Second},
		"answered": {"it wrote its heartbeat to the new leader", 2 * time.Second, 27 * time.Second,
			5 * time.Second},
		"long after": {"it renewed its heartbeat long after the election", -time.Minute, time.Hour, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, "a")
			former := h.now
			h.l = NewLiveness(30*time.Second, 5*time.Second, func() time.Time { return h.now })
			h.l.FormerLeader = func() time.Time { return former }
			h.now = former.Add(test.written)
			h.alive("a", true)
			h.now = former.Add(test.ended)
			h.alive("a", false)
			if got := h.of("a"); got != (Absence{Left: test.left}) {
				t.Errorf("%+v: %s", got, test.reason)
			}
		})
	}
}

// TestWhatIsWrittenOfASilentNodeIsNoHeartbeat: the server that misses two beats writes so under the same key, after an
// election. The node is lost as long after the former leader's end as if nothing had been written.
func TestWhatIsWrittenOfASilentNodeIsNoHeartbeat(t *testing.T) {
	for name, missed := range map[string]bool{"two beats are missed": true, "nothing is written": false} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, "a")
			former := h.now
			h.l = NewLiveness(30*time.Second, 5*time.Second, func() time.Time { return h.now })
			h.l.FormerLeader = func() time.Time { return former }
			h.now = former.Add(10 * time.Second)
			if missed {
				value, err := json.Marshal(records.Heartbeat{Server: "s1", Last: former})
				if err != nil {
					t.Fatal(err)
				}
				h.l.Notice(view.Change{Key: records.AliveKey("a"), Revision: h.view.Revision(), New: value})
			}
			h.now = former.Add(28 * time.Second)
			h.alive("a", false)
			if got := h.of("a"); got != (Absence{Left: 2 * time.Second}) {
				t.Errorf("%+v, want the node lost 30 s after the former leader's end", got)
			}
		})
	}
}

// A store that can't tell of former leaders may have gone on while no server was there.
func TestATermWaitsAWholeTimeoutIfTheStoreKnowsNoLeaders(t *testing.T) {
	h := newHarness(t, "a")
	h.l = NewLiveness(30*time.Second, 5*time.Second, func() time.Time { return h.now })
	h.l.Begin(h.view.Revision())
	h.now = h.now.Add(time.Second)
	h.alive("a", false)
	if got := h.of("a"); got != (Absence{Left: 29 * time.Second}) {
		t.Errorf("%+v a second into a term, want 29s left", got)
	}
}

// Heartbeats that end together do so in several commits: the first node isn't judged alone.
func TestAMassIsHeldAfterAnElection(t *testing.T) {
	h := newHarness(t, "a", "b", "c", "d", "e")
	former := h.now
	h.l = NewLiveness(30*time.Second, time.Second, func() time.Time { return h.now })
	h.l.FormerLeader = func() time.Time { return former }
	h.now = former.Add(32 * time.Second)
	for _, node := range []string{"a", "b", "c", "d", "e"} {
		h.alive(node, false)
		if got := h.of("a"); got.Lost && got.Together == 0 {
			t.Fatalf("%+v as the heartbeat of %s ends", got, node)
		}
		h.now = h.now.Add(100 * time.Millisecond)
	}
	h.now = h.now.Add(time.Second)
	if got := h.of("a"); !got.Lost || got.Together != 5 {
		t.Errorf("%+v, want it held with all five", got)
	}
}

// Nodes that were not asked about count too: their silence says what kind of loss it is.
func TestAMassIsHeld(t *testing.T) {
	h := newHarness(t, "a", "b", "c")
	h.alive("a", false)
	h.alive("b", false)
	h.now = h.now.Add(30 * time.Second)
	if got := h.of("a"); !got.Lost || got.Together != 2 {
		t.Errorf("%+v; want it held with b", got)
	}
	h.alive("b", true)
	if got := h.of("a"); !got.Lost || got.Together != 0 {
		t.Errorf("%+v after b is back", got)
	}
}

// A new leader knows which nodes were lost before: those that go now are not held because of them.
func TestATermRemembersWhatWasLost(t *testing.T) {
	h := newHarness(t, "a", "b", "c", "d", "e")
	for _, node := range []string{"a", "b"} {
		h.alive(node, false)
		h.now = h.now.Add(time.Minute)
		h.write(func(txn *records.Txn) {
			txn.Put(records.LossesKey(node), api.NodeLosses{At: []time.Time{h.now}, Lost: true})
		})
	}
	h.write(func(txn *records.Txn) { txn.Put(records.LossesKey("c"), api.NodeLosses{At: []time.Time{h.now}}) })
	h.l.Begin(h.view.Revision())
	for node, want := range map[string]Absence{"a": {Lost: true}, "b": {Lost: true}, "c": {}, "d": {}} {
		if got := h.of(node); got != want {
			t.Errorf("%s as the term begins: %+v, want %+v", node, got, want)
		}
	}
	h.alive("c", false)
	h.now = h.now.Add(defaultTimeout)
	if got := h.of("c"); got != (Absence{Lost: true}) {
		t.Errorf("%+v of one that goes afterwards: want it replaced", got)
	}
	h.alive("a", true)
	if got := h.of("a"); got != (Absence{}) {
		t.Errorf("%+v of one that is back", got)
	}
	h.alive("a", false)
	if got := h.of("a"); got.Lost {
		t.Errorf("%+v of one that was back: want the whole timeout", got)
	}
	h.now = h.now.Add(-time.Hour) // the next leader's clock is behind
	h.l.Begin(h.view.Revision())
	if got := h.of("b"); got != (Absence{Lost: true}) {
		t.Errorf("%+v by a clock that is behind", got)
	}
}
