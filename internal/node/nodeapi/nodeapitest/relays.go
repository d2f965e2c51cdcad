package nodeapitest

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// relays: a node that serves ingresses learns where the relays of others are; any other one only who may ask it. What
// a person changes, and the removal of a node, counts at once.
func relays(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	becomes := func(reason string, want map[string]node.Relay) {
		t.Helper()
		eventually(t, changes, func() (any, bool) {
			got := c.Relays()
			same := len(got) == len(want)
			for name, relay := range want {
				same = same && got[name] == relay
			}
			return map[string]any{reason: got}, same
		})
	}
	at := netip.MustParseAddrPort("192.0.2.2:8690")
	becomes("it has not said where it is", map[string]node.Relay{There: {UID: There, Asks: true}})
	facts := api.NodeStatus{ID: There, Address: at.Addr(), RelayPort: at.Port()}
	w.Commit(records.NewTxn("test").Put(records.NodeKey(There), facts))
	becomes("it has", map[string]node.Relay{There: {Address: at, UID: There, Asks: true}})
	facts.RelayPort = 0
	w.Commit(records.NewTxn("test").Put(records.NodeKey(There), facts))
	becomes("it takes none any more", map[string]node.Relay{There: {UID: There, Asks: true}})
	facts.RelayPort = at.Port()
	w.Commit(records.NewTxn("test").Put(records.NodeKey(There), facts))
	becomes("it does again", map[string]node.Relay{There: {Address: at, UID: There, Asks: true}})

	ingress := func(name string, serves bool) {
		spec, _ := json.Marshal(api.NodeSpec{Ingress: &serves})
		declared := api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: name, Spec: spec}
		w.Commit(records.NewTxn("test").Put(records.ObjectKey(declared.Ref()), declared))
	}
	ingress(There, false)
	becomes("the other one serves none", map[string]node.Relay{There: {Address: at, UID: There}})
	ingress(Here, false)
	becomes("nor does this one", nil)
	w.Object(api.KindIngress, "port", api.IngressSpec{Listen: "7000"})
	becomes("each node asks for the pods of a port of every node", map[string]node.Relay{There: {Address: at, UID: There}})
	w.Commit(records.NewTxn("test").Delete(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "port"})))
	becomes("there is none any more", nil)
	ingress(There, true)
	becomes("the other one asks this one", map[string]node.Relay{There: {UID: There, Asks: true}})
	ingress(Here, true)
	becomes("both ask", map[string]node.Relay{There: {Address: at, UID: There, Asks: true}})
	w.Commit(records.NewTxn("test").Put(records.MemberKey(There), records.Member{UID: "another machine", Ingress: true}))
	becomes("another machine has the name",
		map[string]node.Relay{There: {Address: at, UID: "another machine", Asks: true}})
	w.Commit(records.NewTxn("test").Put(records.MemberKey(There), records.Member{Removed: true}))
	becomes("it is removed", nil)
}

// reportsPorts has a node that serves no ingress report its listeners: of those the ports of every node are stored.
func reportsPorts(t *testing.T, w *World, c nodeapi.Control, want ...string) {
	t.Helper()
	status := api.IngressNodeStatus{Node: Here, HTTP: api.ListenerStatus{Open: true},
		Ports: map[string]api.ListenerStatus{}}
	for _, port := range want {
		status.Ports[port] = api.ListenerStatus{Open: true}
	}
	err := c.ReportIngress(t.Context(), status)
	got := w.snapshot().IngressNode(Here)
	if err != nil || !got.Exists() || len(got.Value.Ports) != len(want) || got.Value.HTTP.Open {
		t.Errorf("it is stored that it listens at %+v: %v", got.Value, err)
	}
}

// ownServices: a node that serves no ingress learns at which ports ingresses lead to its own pods, and nothing of other
// workloads or pods. Of a port of every node it learns all: its own proxy leads there.
func ownServices(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	w.Commit(records.NewTxn("test").Put(records.MemberKey(Here), records.Member{UID: Here}))
	pod := func(name, id, on string) {
		task := api.Task{ID: id, Kind: api.KindDeployment, Scope: "prod", Name: name, Slot: id, Release: "v1", Node: on,
			Desired: api.DesiredRunning}
		status := api.TaskStatus{ID: id, Node: on, State: api.TaskRunning, Ready: true, Address: "10.0.0.9"}
		w.Commit(records.NewTxn("test").CreateTask(task).Put(records.TaskStatusKey(id), status))
	}
	becomes := func(reason, service string, want ...node.At) {
		t.Helper()
		eventually(t, changes, func() (any, bool) {
			got, known := c.Served().Services[service]
			return map[string]any{reason: c.Served()}, known == (len(want) > 0) &&
				slices.Equal(got.At, want) &&
				(len(got.Pods) > 0) == slices.ContainsFunc(want, func(at node.At) bool { return at.Every })
		})
	}
	tcp := func(port int) node.At { return node.At{Port: port, Protocol: "tcp"} }
	for _, name := range []string{"web", "db", "far"} {
		w.Object(api.KindDeployment, name, map[string]any{"image": "x:1", "ports": []string{"8080"}})
	}
	pod("web", "a", Here)
	pod("db", "b", Here)
	pod("far", "c", There)
	w.Object(api.KindIngress, "web", api.IngressSpec{Host: "web.example"})
	w.Object(api.KindIngress, "far", api.IngressSpec{Host: "far.example"})
	becomes("an ingress leads to its default port", "prod/web", tcp(8080))
	becomes("none leads there", "prod/db")
	becomes("it has no pod of it", "prod/far")
	w.Object(api.KindIngress, "web", api.IngressSpec{Host: "web.example", Port: 9000})
	becomes("it leads elsewhere now", "prod/web", tcp(9000))
	pod("far", "d", Here)
	becomes("it has a pod of it now", "prod/far", tcp(8080))
	w.Object(api.KindIngress, "web-port", api.IngressSpec{Listen: "53/udp", Service: "web"})
	becomes("a port leads there too", "prod/web", tcp(9000), node.At{Port: 8080, Protocol: "udp", Every: true})
	serves := func(reason string, ports int) { // services and ingresses come one after the other
		t.Helper()
		eventually(t, changes, func() (any, bool) {
			got := c.Served()
			ofHost := func(in node.Ingress) bool { return in.Spec.Listen == "" }
			if slices.ContainsFunc(got.Ingresses, ofHost) || len(got.Certificates) > 0 {
				t.Errorf("a node that serves no ingress learns %+v", got.Table)
			}
			return map[string]any{reason: got.Table}, len(got.Ingresses) == ports
		})
	}
	serves("it serves the port alone", 1)
	reportsPorts(t, w, c, "53/udp")
	for _, name := range []string{"web", "web-port"} {
		w.Commit(records.NewTxn("test").Delete(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: "prod", Name: name})))
	}
	becomes("the ingresses are gone", "prod/web")
	reportsPorts(t, w, c)
	serves("it serves no ingress", 0)
}
