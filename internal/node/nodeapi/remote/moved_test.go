package remote

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/store/records"
)

// TestOnlyWhatMovedIsSent: of many pods that another node has, those alone that got another address.
func TestOnlyWhatMovedIsSent(t *testing.T) {
	is := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 80, 4, last}) }
	w := nodeapitest.NewWorld(t)
	pod := func(id string, at netip.Addr) {
		task := api.Task{ID: id, Kind: api.KindDeployment, Scope: "shop", Name: "web", Slot: id,
			Node: nodeapitest.There, Desired: api.DesiredRunning}
		status := api.TaskStatus{ID: id, Node: task.Node, State: api.TaskRunning, Address: at.String()}
		w.Commit(records.NewTxn("test").Put(records.TaskKey(id), task).Put(records.TaskStatusKey(id), status))
	}
	network := api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network, Spec: []byte(`{}`)}
	there := api.NodeStatus{ID: nodeapitest.There}
	w.Commit(records.NewTxn("test").Put(records.NodeKey(there.ID), there).Put(records.ObjectKey(api.NetworkRef), network))
	for id, at := range map[string]netip.Addr{"a": is(2), "b": is(3), "c": is(4)} {
		pod(id, at)
	}
	l := connect(t, w, nodeapitest.Here)
	answer, err := hostileTo(t, l).ask(t.Context(), http.MethodGet, "follow?since=0", nil) // a node has one stream: another one asks
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	frames := json.NewDecoder(answer.Body)
	next := func(holds func(node.Frame) bool) (frame node.Frame) {
		t.Helper()
		for !holds(frame) {
			frame = node.Frame{}
			if err := frames.Decode(&frame); err != nil {
				t.Fatal(err)
			}
		}
		return frame
	}
	next(func(f node.Frame) bool { return f.Epoch != "" })
	pod("a", is(9))
	got := next(func(f node.Frame) bool { return len(f.Pods)+len(f.Moved) > 0 })
	if want := (node.Pods{is(2): "", is(9): "shop"}); len(got.Pods) > 0 || !maps.Equal(got.Moved[nodeapitest.There], want) {
		t.Errorf("pods %v, moved %v, want %v moved", got.Pods, got.Moved, want)
	}
}
