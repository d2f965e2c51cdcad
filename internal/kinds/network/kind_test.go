package network

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// harness is a store with its view and the controller over it. The records of all other writers are written by hand.
type harness struct {
	*testing.T
	store *memory.Store
	view  *view.View
	c     *control.Shell
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{T: t, store: memory.New()}
	h.view = view.New(h.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = h.store.Close() })
	<-h.view.Synced()
	h.c = control.New(control.Deps{Snapshot: h.snapshot, Store: h.store,
		Now: func() time.Time { return time.Unix(0, 0) }}, Kind())
	return h
}

func (h *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: h.view.Snapshot()} }

func (h *harness) commit(txn *records.Txn) {
	h.Helper()
	revision, err := txn.Commit(h.Context(), h.store)
	if err == nil {
		err = h.view.WaitFor(h.Context(), revision)
	}
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) declare(spec api.NetworkSpec) {
	h.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		h.Fatal(err)
	}
	h.commit(records.NewTxn("test").Put(records.ObjectKey(api.NetworkRef), api.Object{
		Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network, Spec: raw, Metadata: api.Metadata{Generation: 1},
	}))
}

// node writes what a node reports of itself; uses is the subnet of its containers, if they have one.
func (h *harness) node(name, uses string, connected bool) {
	h.Helper()
	status := api.NetworkNodeStatus{Node: name, Address: netip.MustParseAddr("192.0.2.1"), Connected: connected}
	if uses != "" {
		status.Subnet = netip.MustParsePrefix(uses)
	}
	h.commit(records.NewTxn("test").Put(records.NodeKey(name),
		api.NodeStatus{ID: name}).Put(records.NetworkNodeKey(name), status).
		Put(records.AliveKey(name), name))
}

// settle reconciles until nothing is written any more.
func (h *harness) settle() (api.NetworkStatus, map[string]netip.Prefix) {
	h.Helper()
	for range 5 {
		result, err := h.c.Reconcile(h.Context(), control.Key(api.NetworkRef))
		if err == nil && result.Revision > 0 {
			err = h.view.WaitFor(h.Context(), result.Revision)
		}
		if err != nil {
			h.Fatal(err)
		}
		if result.Revision == 0 {
			break
		}
	}
	if dirty := h.c.Dirty(time.Unix(0, 0)); len(dirty) > 0 {
		h.Fatalf("it never settles: %v", dirty)
	}
	var status api.NetworkStatus
	if stored, ok := h.snapshot().Get(records.StatusKey(api.NetworkRef)); ok {
		status = *stored.Value.(*api.NetworkStatus)
	}
	if given := h.snapshot().Subnets(); given.Exists() {
		return status, given.Value.Nodes
	}
	return status, nil
}

func TestSubnets(t *testing.T) {
	h := newHarness(t)
	h.node("a", "", false)
	if _, given := h.settle(); len(given) != 1 || given["a"].String() != "10.80.0.0/22" {
		t.Errorf("before a network is declared: %v", given)
	}
	h.declare(api.NetworkSpec{})
	h.node("b", "172.18.0.0/16", true)
	status, given := h.settle()
	if len(given) != 2 || given["a"].String() != "10.80.0.0/22" || given["b"].String() != "172.18.0.0/16" {
		t.Errorf("%v", given)
	}
	ready, degraded := api.FindCondition(status.Conditions, api.ConditionReady),
		api.FindCondition(status.Conditions, api.ConditionDegraded)
	if ready.Status != api.ConditionFalse || !strings.HasSuffix(ready.Message, "waiting for a") ||
		degraded.Status != api.ConditionFalse || len(status.Nodes) != 2 {
		t.Errorf("%+v", status)
	}
	h.node("a", "10.80.0.0/22", true)
	if status, _ = h.settle(); api.FindCondition(status.Conditions, api.ConditionReady).Status != api.ConditionTrue {
		t.Errorf("all are connected: %+v", status)
	}
	for claim, why := range map[string]string{
		"0.0.0.0/0": "wider than a /16", "8.0.0.0/8": "wider than a /16", "172.16.0.0/12": "wider than a /16",
		"8.8.0.0/16": "outside of the network's range", "192.0.2.0/24": "outside of the network's range",
		"10.0.0.0/16":  "outside of the network's range",
		"127.0.0.0/16": "outside of the network's range", "fd00::/64": "not an IPv4 network",
	} {
		h.node("d", claim, true)
		status, given = h.settle()
		if message := api.FindCondition(status.Conditions, api.ConditionDegraded).Message; given["d"].IsValid() ||
			!strings.Contains(message, why) || len(given) != 2 {
			t.Errorf("a node that claims %s: %v, %s", claim, given, message)
		}
	}
	h.commit(records.NewTxn("test").Delete(records.NodeKey("d")).Delete(records.NetworkNodeKey("d")))
	h.node("c", "172.18.0.0/16", true)
	status, given = h.settle()
	if _, has := given["c"]; has || !strings.Contains(api.FindCondition(status.Conditions,
		api.ConditionDegraded).Message, "c: its containers use 172.18.0.0/16, and node b has") {
		t.Errorf("a conflict: %v %+v", given, status)
	}
	h.commit(records.NewTxn("test").Put(records.NetworkNodeKey("a"),
		api.NetworkNodeStatus{Node: "a", Message: "the engine is away"}))
	if _, given = h.settle(); given["a"].String() != "10.80.0.0/22" {
		t.Errorf("a node that isn't connected for a while lost its subnet: %v", given)
	}
	h.commit(records.NewTxn("test").Delete(records.NodeKey("b")).Delete(records.NetworkNodeKey("b")))
	if _, given = h.settle(); len(given) != 2 || given["c"].String() != "172.18.0.0/16" {
		t.Errorf("after the other node was removed: %v", given)
	}
	h.commit(records.NewTxn("test").Delete(records.ObjectKey(api.NetworkRef)))
	if status, given = h.settle(); len(given) != 2 || len(status.Nodes) > 0 {
		t.Errorf("after it was deleted the subnets are still in use: %v %+v", given, status)
	}
}

// TestASubnetFromBeforeTheNetwork: containers keep the subnet that their node was given when it joined, whatever range
// the network is declared with later; a node without containers gets one of that range.
func TestASubnetFromBeforeTheNetwork(t *testing.T) {
	h := newHarness(t)
	h.node("a", "", false)
	h.node("b", "", false)
	h.settle()
	h.node("a", "10.80.0.0/22", false) // it has made the network of its containers since
	h.declare(api.NetworkSpec{Range: "10.99.0.0/16"})
	if status, given := h.settle(); given["a"].String() != "10.80.0.0/22" || given["b"].String() != "10.99.0.0/22" {
		t.Errorf("%v %+v", given, status)
	}
}

// TestANodeThatIsDownIsNotConnected: what it said last doesn't count, as soon as its heartbeat ends and until it
// answers again.
func TestANodeThatIsDownIsNotConnected(t *testing.T) {
	h := newHarness(t)
	noticed := 0
	t.Cleanup(h.view.OnChange(func(change view.Change) { noticed += len(h.c.Affected(h.snapshot(), change)) }))
	h.declare(api.NetworkSpec{})
	h.node("a", "10.80.0.0/22", true)
	h.node("b", "10.80.4.0/22", true)
	connected := func(what, message, degraded string) {
		t.Helper()
		status, _ := h.settle()
		if c := api.FindCondition(status.Conditions, api.ConditionReady); c.Status != api.ConditionTrue ||
			c.Message != message {
			t.Errorf("%s: %s %q, want %q", what, c.Status, c.Message, message)
		}
		if c := api.FindCondition(status.Conditions, api.ConditionDegraded); c.Message != degraded {
			t.Errorf("%s, it is degraded: %q", what, c.Message)
		}
		if noticed == 0 {
			t.Errorf("%s: nobody noticed", what)
		}
		noticed = 0
	}
	connected("both answer", "2 of 2 nodes are connected", "")
	h.commit(records.NewTxn("test").Delete(records.AliveKey("b")))
	connected("b is down", "1 of 2 nodes are connected; no answer comes from b", "")
	h.commit(records.NewTxn("test").Put(records.AliveKey("b"), "b"))
	connected("b is back", "2 of 2 nodes are connected", "")
}
