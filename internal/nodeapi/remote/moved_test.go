package remote

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/nodeapi/nodeapitest"
	"tend.dev/tend/internal/records"
)

// TestOnlyWhatMovedIsSent: of many pods that another node has, those alone that got another address. An agent that is older than that
// is sent all of them.
func TestOnlyWhatMovedIsSent(t *testing.T) {
	is := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 80, 4, last}) }
	for name, test := range map[string]struct {
		path        string
		pods, moved node.Pods
	}{
		"an agent":       {"follow?since=0&moved=1", nil, node.Pods{is(2): "", is(9): "shop"}},
		"an older agent": {"follow?since=0", node.Pods{is(3): "shop", is(4): "shop", is(9): "shop"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := nodeapitest.NewWorld(t)
			pod := func(id string, at netip.Addr) {
				task := api.Task{ID: id, Kind: api.KindDeployment, Scope: "shop", Name: "web", Slot: id, Node: nodeapitest.There, Desired: api.DesiredRunning}
				status := api.TaskStatus{ID: id, Node: task.Node, State: api.TaskRunning, Address: at.String()}
				w.Commit(records.NewTxn("test").Put(records.TaskKey(id), task).Put(records.TaskStatusKey(id), status))
			}
			network := api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network, Spec: []byte(`{}`)}
			w.Commit(records.NewTxn("test").Put(records.NodeKey(nodeapitest.There), api.NodeStatus{ID: nodeapitest.There}).Put(records.ObjectKey(api.NetworkRef), network))
			for id, at := range map[string]netip.Addr{"a": is(2), "b": is(3), "c": is(4)} {
				pod(id, at)
			}
			l := connect(t, w, nodeapitest.Here)
			answer, err := hostileTo(t, l).ask(t.Context(), http.MethodGet, test.path, nil) // a node has one stream: another one asks
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
			if !maps.Equal(got.Pods[nodeapitest.There], test.pods) || !maps.Equal(got.Moved[nodeapitest.There], test.moved) {
				t.Errorf("pods %v, moved %v", got.Pods, got.Moved)
			}
		})
	}
}
