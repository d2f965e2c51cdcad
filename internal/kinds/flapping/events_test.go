package flapping

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// nodes is a store with the log of events, and the controller over it. Its clock moves by hand.
type nodes struct {
	*testing.T
	now   time.Time
	store *memory.Store
	view  *view.View
	log   *eventlog.Log
	c     *control.Shell
}

func newNodes(t *testing.T) *nodes {
	n := &nodes{T: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), store: memory.New()}
	n.log = eventlog.New(eventlog.Options{Store: n.store, Prefix: records.EventsPrefix, Source: "test"})
	n.view = view.New(n.store, view.Options{Decode: records.Decode, Indexes: records.Indexes,
		Aside: []view.Aside{{Prefix: records.EventsPrefix, Reader: n.log}}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = n.store.Close() })
	<-n.view.Synced()
	n.lead()
	return n
}

func (n *nodes) clock() time.Time           { return n.now }
func (n *nodes) snapshot() records.Snapshot { return records.Snapshot{Reader: n.view.Snapshot()} }

// lead makes the controller of another leader.
func (n *nodes) lead() {
	liveness := owner.NewLiveness(0, 0, n.clock)
	liveness.Begin(0)
	n.Cleanup(n.view.OnChange(liveness.Notice))
	recorder := eventlog.Record(n.store, n.view.Snapshot, n.clock)
	n.c = control.New(control.Deps{Snapshot: n.snapshot, Store: recorder, Now: n.clock}, Kind(liveness, time.Time{}))
}

func (n *nodes) write(txn *records.Txn) {
	n.Helper()
	revision, err := txn.Commit(n.Context(), n.store)
	if err == nil {
		err = n.view.WaitFor(n.Context(), revision)
	}
	if err != nil {
		n.Fatal(err)
	}
}

// pass lets time pass, and reconciles all nodes twice: what is up to date makes no further event.
func (n *nodes) pass(d time.Duration) {
	n.Helper()
	n.now = n.now.Add(d)
	for range 2 {
		for _, key := range n.c.Keys() {
			result, err := n.c.Reconcile(n.Context(), key)
			if err == nil {
				err = n.view.WaitFor(n.Context(), result.Revision)
			}
			if err != nil {
				n.Fatal(err)
			}
		}
	}
}

// events returns the types of the events about a node, as a reader of the log gets them.
func (n *nodes) events(name string) (out []string) {
	n.Helper()
	page, err := n.log.Read(n.Context(), eventlog.Query{Limit: 100})
	if err != nil {
		n.Fatal(err)
	}
	for _, e := range page.Events {
		var data api.EventData
		if err := json.Unmarshal(e.Data, &data); err != nil {
			n.Fatal(err)
		}
		if data.Name == name {
			out = append(out, strings.TrimPrefix(e.Type, "node."))
		}
	}
	return out
}

// TestEachChangeOfANodeIsAnEvent: once each, also over a change of the leader.
func TestEachChangeOfANodeIsAnEvent(t *testing.T) {
	n := newNodes(t)
	facts := api.NodeStatus{ID: "n1", Ready: true, Version: "1"}
	n.write(records.NewTxn("test").Put(records.NodeKey("n1"), facts).Put(records.AliveKey("n1"), "now").
		Put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Ready: true}).Put(records.AliveKey("n2"), "now"))
	n.write(records.NewTxn("test").Put(records.NodeKey("n3"),
		api.NodeStatus{ID: "n3", Ready: true})) // its heartbeat is to come
	n.pass(time.Second)
	n.write(records.NewTxn("test").Put(records.AliveKey("n3"), "now"))
	for range 3 {
		n.write(records.NewTxn("test").Delete(records.AliveKey("n1")))
		n.pass(10 * time.Second) // it may still answer in time
		if state := n.snapshot().NodeState("n1"); !state.Exists() || state.Value.State != api.NodeSilent {
			t.Errorf("not lost yet, it is %+v", state.Value)
		}
		n.pass(35 * time.Second)
		n.lead()
		n.pass(time.Second) // a new leader can't tell yet
		n.pass(time.Minute)
		if state := n.snapshot().NodeState("n1"); !state.Exists() || state.Value.State != api.NodeLost ||
			n.now.Sub(state.Value.ChangedAt) < time.Minute {
			t.Errorf("silent, it is %+v", state.Value)
		}
		n.write(records.NewTxn("test").Put(records.AliveKey("n1"), "again"))
		n.pass(time.Second)
	}
	facts.Version = "2"
	n.write(records.NewTxn("test").Put(records.NodeKey("n1"), facts))
	n.pass(time.Hour)
	n.write(records.NewTxn("test").Delete(records.NodeKey("n1")).Delete(records.AliveKey("n1")))
	n.pass(time.Hour)
	want := []string{"joined", "silent", "lost", "returned", "silent", "lost", "returned", "silent", "lost", "returned",
		"flapping", "status_updated", "removed"}
	if got := n.events("n1"); !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
	for _, other := range []string{"n2", "n3"} {
		if got := n.events(other); !slices.Equal(got, []string{"joined"}) {
			t.Errorf("of the node %s: %q", other, got)
		}
	}
	if n.snapshot().NodeState("n1").Exists() {
		t.Error("something is left of it")
	}
}

// TestAnUnheardNodeIsSilent: from the moment at which its server writes that two beats are missing, or is gone, long
// before its heartbeat ends.
func TestAnUnheardNodeIsSilent(t *testing.T) {
	n := newNodes(t)
	life := time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)
	server := func() *records.Txn {
		return records.NewTxn("test").Put(records.ServerKey("a"), api.ServerPresence{Since: life})
	}
	n.write(server())
	for _, node := range []string{"n1", "n2"} {
		n.write(records.NewTxn("test").Put(records.NodeKey(node), api.NodeStatus{ID: node, Ready: true}).
			Put(records.AliveKey(node), records.Heartbeat{Server: "a", Life: life}))
	}
	n.pass(time.Second)
	for name, step := range map[string]struct{ goes, returns *records.Txn }{
		"two beats are missing": {
			records.NewTxn("test").Put(records.AliveKey("n1"), records.Heartbeat{Server: "a", Life: life, Last: n.now}),
			records.NewTxn("test").Put(records.AliveKey("n1"), records.Heartbeat{Server: "a", Life: life})},
		"the server is gone": {records.NewTxn("test").Delete(records.ServerKey("a")), server()},
	} {
		for _, each := range []struct {
			txn  *records.Txn
			want string
		}{{step.goes, api.NodeSilent}, {step.returns, api.NodeUp}} {
			n.affected(each.txn, "n1")
			n.pass(time.Second)
			if state := n.snapshot().NodeState("n1"); !state.Exists() || state.Value.State != each.want {
				t.Errorf("%s: it is %+v, want %s", name, state.Value, each.want)
			}
		}
	}
	if got, want := n.events("n1"), []string{"joined", "silent", "returned", "silent", "returned"}; !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
}

// affected writes, and checks that a node is reconciled for that.
func (n *nodes) affected(txn *records.Txn, node string) {
	n.Helper()
	var concerned bool
	remove := n.view.OnChange(func(change view.Change) {
		concerned = concerned || slices.Contains(n.c.Affected(n.snapshot(), change), control.Key(refOf(node)))
	})
	n.write(txn)
	if remove(); !concerned {
		n.Errorf("%s is not reconciled", node)
	}
}
