package local_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/store/records"
)

// TestAddressesOfOthers walks all that a node is given, when it begins to follow, as it goes on and when it asks, for
// the addresses of another machine, of its relay and of its pods: these are for nodes with a network between them, the
// relay's also for those that ask it. The oracle is the text of the answers.
func TestAddressesOfOthers(t *testing.T) {
	const here, there = nodeapitest.Here, nodeapitest.There
	const machine, relay, pod, own = "192.0.2.2", "192.0.2.7:8690", "10.80.4.2", "10.80.0.2"
	yes, no := true, false
	network := api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network, Spec: []byte(`{}`)}
	ending := network
	ending.Metadata.DeletedAt = new(time.Time)
	for name, tc := range map[string]struct {
		network *api.Object
		ingress *bool
		listen  string
		sees    []string
	}{
		"nothing is declared":      {nil, &no, "", nil},
		"an ingress node":          {nil, &yes, "", []string{relay}},
		"a port of every node":     {nil, &no, "127.0.0.1:7000", []string{relay}},
		"a network":                {&network, &no, "", []string{machine, pod}},
		"a network that is ending": {&ending, &no, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := nodeapitest.NewWorld(t)
			declare := func(object api.Object) {
				w.Commit(records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object))
			}
			run := func(id, on, address string) {
				w.Commit(records.NewTxn("test").CreateTask(api.Task{ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "web",
					Slot: id, Release: "v1", Node: on, Desired: api.DesiredRunning}).Put(records.TaskStatusKey(id),
					api.TaskStatus{ID: id, Node: on, State: api.TaskRunning, Ready: true, Address: address}))
			}
			if tc.network != nil {
				declare(*tc.network)
			}
			for node, serves := range map[string]*bool{here: tc.ingress, there: &no} {
				spec, _ := json.Marshal(api.NodeSpec{Ingress: serves})
				declare(api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: node, Spec: spec})
			}
			w.Object(api.KindDeployment, "web", map[string]any{"image": "web:1"})
			w.Object(api.KindIngress, "web", api.IngressSpec{Host: "web.example", Service: "web", Listen: tc.listen})
			w.Commit(records.NewTxn("test").Put(records.AliveKey(here), here).Put(records.AliveKey(there), there))
			w.Commit(records.NewTxn("test").Put(records.SubnetsKey, api.Subnets{Nodes: map[string]netip.Prefix{
				here: netip.MustParsePrefix("10.80.0.0/22"), there: netip.MustParsePrefix("10.80.4.0/22")}}))
			listing := until(t, w, "", 0, 1)
			since, epoch := w.View.Revision(), listing[len(listing)-1].Epoch

			at := netip.MustParseAddrPort(relay)
			w.Commit(records.NewTxn("test").Put(records.NodeKey(there),
				api.NodeStatus{ID: there, Address: at.Addr(), RelayPort: at.Port()}))
			w.Commit(records.NewTxn("test").Put(records.NetworkNodeKey(there),
				api.NetworkNodeStatus{Node: there, Address: netip.MustParseAddr(machine), Key: "k"}))
			run("own", here, own)
			run("theirs", there, pod)
			run("shared", there, "127.0.0.1") // it is in its node's network
			w.Commit(records.NewTxn("test").Put(records.NodeKey(here), api.NodeStatus{ID: here}))

			c := w.Service.Node(here)
			names, err := c.Resolve(t.Context(), "web.prod")
			if err != nil || !names.Known || !slices.Contains(names.Addresses, netip.MustParseAddr(own)) {
				t.Errorf("web.prod is %+v, %v, and has a pod here", names, err)
			}
			given := map[string]any{
				"a listing": until(t, w, "", 0, w.View.Revision()), "changes": until(t, w, epoch, since, w.View.Revision()),
				"its state": []any{c.Served(), c.Network(), c.Relays(), c.Pods()}, "a name": names,
			}
			for answer, value := range given {
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				for _, address := range []string{machine, relay, pod} {
					if strings.Contains(string(text), address) && !slices.Contains(tc.sees, address) {
						t.Errorf("%s has %s: %s", answer, address, text)
					}
				}
			}
			for _, address := range tc.sees {
				text, _ := json.Marshal(given)
				if !strings.Contains(string(text), address) {
					t.Errorf("nothing has %s: %s", address, text)
				}
			}
		})
	}
}
