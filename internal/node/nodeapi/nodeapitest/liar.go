package nodeapitest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// lie is something that a node does and may not. It is refused, or has no effect; what the store holds stays as it was.
type lie struct {
	name string
	tell func(context.Context, nodeapi.Control) error
	// quiet is set if there is no error to see: it is left out like what is gone.
	quiet bool
}

// liar: whatever a node says of others, of what it was not asked for, or of more than its bounds, changes nothing.
func liar(t *testing.T, w *World, c nodeapi.Control) {
	w.victims(t)
	var lies []lie
	for _, some := range [][]lie{liesAboutTasks(), liesAboutImages(), liesAboutNetworks(),
		liesAboutCertificates(t), liesAboutOthers()} {
		lies = append(lies, some...)
	}
	if len(lies) < 130 {
		t.Errorf("only %d lies", len(lies))
	}
	for _, l := range lies {
		before := w.contents(t)
		err := l.tell(t.Context(), c)
		if (err == nil) != l.quiet {
			t.Errorf("%s: %v", l.name, err)
		}
		if after := w.contents(t); after != before {
			t.Errorf("%s changed the store:\n%s", l.name, firstDifference(before, after))
		}
	}
}

// victims stores what a hostile node is after: what another node has, and what is declared.
func (w *World) victims(t *testing.T) {
	w.Deploy("own", Here)
	w.Deploy("theirs", There)
	for _, alive := range []string{Here, There} {
		w.Commit(records.NewTxn("test").Put(records.AliveKey(alive), alive))
	}
	asked := api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}
	answer := api.ImageStatus{Owner: web, OwnerUID: "u1", Node: There, Image: "web:1", State: api.ImagePresent,
		ImageID: "sha256:good", Digest: "sha256:d"}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web), asked).Put(records.ImageStatusKey(There, web), answer))
	mine := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "mine"}
	pinned := api.ImageStatus{Owner: mine, OwnerUID: "u2", Node: Here, Image: "mine:1", State: api.ImagePresent,
		ImageID: "sha256:good", Digest: "sha256:d"}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(mine),
		api.ImageRequest{Owner: mine, OwnerUID: "u2", Image: "mine:1"}).
		Put(records.ImageStatusKey(Here, mine), pinned))
	exact := api.ImageRequest{Owner: api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "exact"},
		OwnerUID: "u4", Image: exactImage}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(exact.Owner), exact).
		Put(records.ImageStatusKey(There, exact.Owner),
			api.ImageStatus{Owner: exact.Owner, OwnerUID: "u4", Node: There, Image: exactImage, State: api.ImageFailed}))
	w.Object(api.KindIngress, "shop", api.IngressSpec{Host: "shop.example", TLS: &api.IngressTLS{}})
	w.Object(api.KindIngress, "inside",
		api.IngressSpec{Host: "*.inside.example", TLS: &api.IngressTLS{Provider: "internal"}})
	w.Commit(records.NewTxn("test").Put(records.NetworkNodeKey(There),
		api.NetworkNodeStatus{Node: There, Address: netip.MustParseAddr("192.0.2.2")}))
	all := w.certificates
	for _, key := range []string{"internal/root.key", "internal/root.crt",
		"certificates/acme/other.example/other.example.key"} {
		if err := all.Store(t.Context(), key, []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
}

// contents returns all that the store holds but heartbeats and leases.
func (w *World) contents(t *testing.T) string {
	t.Helper()
	page, err := w.Store.List(t.Context(), "/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, entry := range page.Entries {
		fmt.Fprintf(&out, "%s %d %.200q\n", entry.Key, entry.Modified, entry.Value)
	}
	return out.String()
}

func firstDifference(before, after string) string {
	known := map[string]bool{}
	for line := range strings.Lines(before) {
		known[line] = true
	}
	for line := range strings.Lines(after) {
		if !known[line] {
			return line
		}
	}
	return "something is gone"
}

func reporting(name string, report node.Report) lie {
	return lie{name: name, tell: func(ctx context.Context, c nodeapi.Control) error { return c.Report(ctx, report) }}
}

func liesAboutTasks() []lie {
	big := strings.Repeat("x", 300<<10)
	many := node.Report{}
	for i := range node.MaxReport + 1 {
		many.Forget = append(many.Forget, fmt.Sprint(i))
	}
	out := []lie{
		reporting("forgets another's task", node.Report{Forget: []string{"theirs"}}),
		reporting("forgets a task that is to run", node.Report{Forget: []string{"own"}}),
		reporting("says who another node is", node.Report{Node: &api.NodeStatus{ID: There, Ready: true}}),
		reporting("a task's message that fills the store",
			node.Report{Tasks: []api.TaskStatus{{ID: "own", Node: Here, State: api.TaskRunning, Message: big}}}),
		reporting("an address that fills the store",
			node.Report{Tasks: []api.TaskStatus{{ID: "own", Node: Here, State: api.TaskRunning, Address: big}}}),
		reporting("a relay at every machine's address",
			node.Report{Node: &api.NodeStatus{ID: Here, Address: netip.MustParseAddr("0.0.0.0"), RelayPort: 1}}),
		reporting("a relay at the cloud's own service",
			node.Report{Node: &api.NodeStatus{ID: Here, Address: netip.MustParseAddr("169.254.169.254"), RelayPort: 80}}),
		reporting("more cores than a machine has", node.Report{Node: &api.NodeStatus{ID: Here, CPUs: 999999}}),
		reporting("more memory than a machine has", node.Report{Node: &api.NodeStatus{ID: Here, MemoryBytes: math.MaxInt64}}),
		reporting("less memory than none", node.Report{Node: &api.NodeStatus{ID: Here, MemoryBytes: -1}}),
		reporting("facts that fill the store", node.Report{Node: &api.NodeStatus{ID: Here, Message: big}}),
		reporting("labels that fill the store",
			node.Report{Node: &api.NodeStatus{ID: Here, Labels: map[string]string{"a": big}}}),
		reporting("more parts than a report has", many),
	}
	for _, state := range []api.TaskState{api.TaskAccepted, api.TaskRunning, api.TaskComplete, api.TaskFailed} {
		out = append(out,
			reporting("another's task is "+string(state),
				node.Report{Tasks: []api.TaskStatus{{ID: "theirs", Node: Here, State: state}}}),
			reporting("another's task, in its name, is "+string(state),
				node.Report{Tasks: []api.TaskStatus{{ID: "theirs", Node: There, State: state}}}),
			reporting("its own task, in another's name, is "+string(state),
				node.Report{Tasks: []api.TaskStatus{{ID: "own", Node: There, State: state}}}))
		invented := reporting("an invented task is "+string(state),
			node.Report{Tasks: []api.TaskStatus{{ID: "invented", Node: Here, State: state}}})
		invented.quiet = true
		out = append(out, invented)
	}
	return out
}

func liesAboutNetworks() []lie {
	network := func(name string, status api.NetworkNodeStatus) lie {
		return lie{name: name, tell: func(ctx context.Context,
			c nodeapi.Control) error {
			return c.ReportNetwork(ctx, status)
		}}
	}
	out := []lie{
		network("another node's network", api.NetworkNodeStatus{Node: There, Address: netip.MustParseAddr("192.0.2.1")}),
		network("nobody's network", api.NetworkNodeStatus{Address: netip.MustParseAddr("192.0.2.1")}),
		network("more networks than a machine has",
			api.NetworkNodeStatus{Node: Here, Taken: make([]netip.Prefix, boundary.MaxTaken+1)}),
		network("a message that others have to read", api.NetworkNodeStatus{Node: Here, Message: strings.Repeat("x", 513)}),
		network("a key of any text", api.NetworkNodeStatus{Node: Here, Key: "changes each time"}),
		network("a key that is too short", api.NetworkNodeStatus{Node: Here, Key: strings.Repeat("A", 40)}),
		network("a key that is too long", api.NetworkNodeStatus{Node: Here, Key: strings.Repeat("A", 48)}),
		network("a key in lines", api.NetworkNodeStatus{Node: Here, Key: "\n" + strings.Repeat("A", 43) + "="}),
		{name: "a state of its proxy that fills the store", tell: func(ctx context.Context, c nodeapi.Control) error {
			return c.ReportIngress(ctx, api.IngressNodeStatus{Node: Here,
				HTTP: api.ListenerStatus{Error: strings.Repeat("x", 300<<10)}})
		}},
	}
	for _, address := range []string{"127.0.0.1", "::1", "0.0.0.0", "::", "224.0.0.1", "169.254.169.254", "fe80::1",
		"255.255.255.255", "192.0.2.2"} {
		out = append(out, network("it is reached at "+address,
			api.NetworkNodeStatus{Node: Here, Address: netip.MustParseAddr(address)}))
	}
	for _, on := range []string{There, ""} {
		out = append(out, lie{name: "the proxy of node " + on, tell: func(ctx context.Context, c nodeapi.Control) error {
			return c.ReportIngress(ctx, api.IngressNodeStatus{Node: on})
		}})
	}
	return out
}

// forbidden returns err, and another one if it isn't a refusal.
func forbidden(err error) error {
	if err != nil && !errors.Is(err, node.ErrForbidden) {
		panic(fmt.Sprintf("%v is not a refusal", err))
	}
	return err
}

func requestFor(t *testing.T, names []string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: names}, key)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func liesAboutOthers() []lie {
	theirs := api.Task{ID: "theirs", Kind: api.KindDeployment, Scope: "prod", Name: "app-theirs",
		Release: "v1", Node: Here}
	ask := func(name string, tell func(context.Context, nodeapi.Control) error) lie {
		return lie{name: name, tell: tell}
	}
	return []lie{
		ask("reads another's release",
			func(ctx context.Context, c nodeapi.Control) error { _, err := c.Release(ctx, theirs); return err }),
		ask("reads another's image", func(ctx context.Context, c nodeapi.Control) error {
			_, err := c.ReleaseImage(ctx, theirs, node.Part{})
			return err
		}),
		ask("reads another's file", func(ctx context.Context,
			c nodeapi.Control) error {
			_, err := c.Blob(ctx, "sha256:theirs")
			return err
		}),
		ask("reads the secrets of a build that it wasn't asked for", func(ctx context.Context, c nodeapi.Control) error {
			_, err := c.BuildSecrets(ctx, web)
			return err
		}),
	}
}

// longHeartbeat: a heartbeat lasts as long as the server says, whatever the node asks for.
func longHeartbeat(t *testing.T, w *World, c nodeapi.Control) {
	for _, ttl := range []time.Duration{100 * 365 * 24 * time.Hour, 25 * time.Second, time.Second, 0, -time.Hour} {
		if err := c.Alive(t.Context(), ttl); err != nil {
			t.Fatal(err)
		}
		entry, err := w.Store.Get(t.Context(), records.AliveKey(Here))
		if err != nil {
			t.Fatal(err)
		}
		if granted := w.leases.granted(entry.Lease); granted != lease {
			t.Errorf("asked for %s: the lease lasts %s", ttl, granted)
		}
		if server, ok := c.(nodeapi.Leaser); !ok || server.Lease() != lease {
			t.Errorf("asked for %s: the node doesn't hear how long it lasts", ttl)
		}
		w.Commit(records.NewTxn("test").Delete(records.AliveKey(Here)))
	}
}
