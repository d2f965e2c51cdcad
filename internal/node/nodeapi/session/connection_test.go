package session_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/session"
	"tend.dev/tend/internal/node/runtime"
)

// named returns a node that lists one container of a name.
func named(name string) *fake {
	return &fake{list: func(context.Context) ([]runtime.Container,
		error) {
		return []runtime.Container{{Name: name}}, nil
	}}
}

// lists checks whose containers a node of the fleet lists.
func (c *cluster) lists(id, want string) error {
	n, err := c.fleet.Node(id)
	if err != nil {
		return err
	}
	got, err := n.List(c.t.Context())
	if err == nil && (len(got) != 1 || got[0].Name != want) {
		err = errors.New("another node answers")
	}
	return err
}

// TestPresence: the fleet has a node as long as its connection lasts, whichever end ends it.
func TestPresence(t *testing.T) {
	c := newCluster(t)
	first, second := c.connect("n1", named("a"), nil), c.connect("n2", named("b"), nil)
	c.node("n1")
	c.node("n2")
	if got := c.fleet.Connected(); !slices.Equal(got, []string{"n1", "n2"}) {
		t.Errorf("connected: %v", got)
	}
	first.cut()
	await(t, "the server notices", c.left)
	await(t, "the node notices", first.ended)
	if _, err := c.fleet.Node("n1"); !errors.Is(err, node.ErrNotConnected) {
		t.Errorf("after the cut: %v", err)
	}
	if err := c.lists("n2", "b"); err != nil {
		t.Errorf("the other node: %v", err)
	}
	second.cut()
	await(t, "the server notices", c.left)
	if got := c.fleet.Connected(); len(got) != 0 {
		t.Errorf("connected: %v", got)
	}
}

// TestASecondConnection of a node replaces the first, and the first's end doesn't remove it.
func TestASecondConnection(t *testing.T) {
	c := newCluster(t)
	first := c.connect("n1", named("old"), nil)
	eventually(t, "the first answers", func() error { return c.lists("n1", "old") })
	c.connect("n1", named("new"), nil)
	eventually(t, "the second answers", func() error { return c.lists("n1", "new") })
	first.cut()
	await(t, "the server notices the first's end", c.left)
	if err := c.lists("n1", "new"); err != nil {
		t.Error(err)
	}
}

// TestWhoIsNoNode: a connection is served only with a node's certificate of this cluster.
func TestWhoIsNoNode(t *testing.T) {
	c := newCluster(t)
	server, err := c.ca.Server(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, own := range map[string]*tls.Certificate{
		"no certificate":                 {},
		"a certificate of another's":     certificate(t, found(t), "n1"),
		"the certificate of a server":    &server,
		"a certificate without any name": certificate(t, c.ca, ""),
	} {
		conn, err := c.dial(t.Context(), own)
		if err != nil {
			continue // the handshake failed
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil { // the server speaks first
			t.Errorf("%s: the server sends requests", name)
		}
		_ = conn.Close()
		if got := c.fleet.Connected(); len(got) != 0 {
			t.Errorf("%s: connected: %v", name, got)
		}
	}
}

// TestServeEndsWithItsContext: the node leaves, and the server notices.
func TestServeEndsWithItsContext(t *testing.T) {
	c := newCluster(t)
	conn, err := c.dial(t.Context(), certificate(t, c.ca, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := goes(func() error { session.Serve(ctx, conn, named("a"), nil, quiet); return nil })
	c.node("n1")
	cancel()
	await(t, "the node's end", served)
	await(t, "the server's end", c.left)
}

// TestServeEndsBeforeItBegins: the connection doesn't outlive a context that ends before it is accepted, which one in
// some hundred does here.
func TestServeEndsBeforeItBegins(t *testing.T) {
	c := newCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	own := certificate(t, c.ca, "n1")
	for range 200 {
		conn, err := c.dial(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		session.Serve(ctx, conn, named("a"), nil, quiet)
		await(t, "the server's end", c.left)
	}
}

// TestKeep dials again after a cut, until its context ends.
func TestKeep(t *testing.T) {
	c := newCluster(t)
	own, conns, failures := certificate(t, c.ca, "n1"), make(chan net.Conn, 10), 2
	dial := func(ctx context.Context) (net.Conn, error) {
		if failures > 0 {
			failures--
			return nil, errors.New("the server is away")
		}
		conn, err := c.dial(ctx, own)
		if err == nil {
			conns <- conn
		}
		return conn, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	kept := goes(func() error { return session.Keep(ctx, dial, never, named("a"), closedChannel(), quiet) })
	for range 3 {
		conn := await(t, "a dial", conns)
		eventually(t, "the node answers", func() error { return c.lists("n1", "a") })
		_ = conn.Close()
		await(t, "the server notices", c.left)
	}
	cancel()
	if err := await(t, "the end", kept); err != nil {
		t.Error(err)
	}
}

// TestKeepBacksOff: a server that takes a connection and refuses the node's certificate afterwards isn't dialled in a
// tight loop.
func TestKeepBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		dial := func(context.Context) (net.Conn, error) {
			dials++
			here, there := net.Pipe()
			_ = there.Close()
			return here, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := session.Keep(ctx, dial, never, named("a"), nil, quiet); err != nil {
			t.Error(err)
		}
		if dials < 5 || dials > 60 {
			t.Errorf("%d dials in a minute", dials)
		}
	})
}

// never says that no error is for good.
func never(error) bool { return false }

// TestACutAnswersWhatIsUnderWay: a request that the connection doesn't survive says so, and nothing of the server's own
// fault.
func TestACutAnswersWhatIsUnderWay(t *testing.T) {
	c := newCluster(t)
	asked := make(chan struct{})
	first := c.connect("n1", &fake{list: func(ctx context.Context) ([]runtime.Container, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}}, nil)
	failed := make(chan error, 1)
	n := c.node("n1")
	go func() { _, err := n.List(t.Context()); failed <- err }()
	await(t, "the request", asked)
	first.cut()
	var problem *api.Problem
	if err := await(t, "its end", failed); !errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable ||
		errors.Is(err, node.ErrNotConnected) {
		t.Errorf("the request fails with %v", err)
	}
}

// TestAnEndedConnectionSendsNothing: a request that the node can't have got says so. It may be sent again, or to
// another node.
func TestAnEndedConnectionSendsNothing(t *testing.T) {
	c := newCluster(t)
	var got atomic.Int64
	first := c.connect("n1", &fake{list: func(context.Context) ([]runtime.Container, error) {
		got.Add(1)
		return nil, nil
	}}, nil)
	n := c.node("n1")
	if _, err := n.List(t.Context()); err != nil || got.Load() != 1 {
		t.Fatalf("%v after %d requests", err, got.Load())
	}
	first.cut()
	await(t, "the server notices", c.left)
	var problem *api.Problem
	if _, err := n.List(t.Context()); !errors.Is(err, node.ErrNotConnected) || errors.As(err, &problem) {
		t.Errorf("the next request fails with %v", err)
	}
	if got.Load() != 1 {
		t.Errorf("the node has got %d requests", got.Load())
	}
}
