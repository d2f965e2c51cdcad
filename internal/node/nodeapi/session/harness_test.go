package session_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/node/nodeapi/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the wait for something that must come; it usually comes much sooner.
const patience = 30 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// cluster is a server with its listener for nodes.
type cluster struct {
	t       *testing.T
	ca      *authority.Authority
	address string
	fleet   nodeapi.Fleet
	// left gets a value when a connection of a node has ended at the server.
	left chan struct{}
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, ca: found(t), left: make(chan struct{}, 100)}
	own, err := c.ca.Server(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	accept := session.Accept(&c.fleet, func(conn *tls.Conn) (string, func(), error) {
		machine, err := authority.MachineOf(conn.ConnectionState())
		return machine.Node, func() {}, err
	}, quiet)
	server := &http.Server{
		Handler: http.NotFoundHandler(), Protocols: protocols, ErrorLog: slog.NewLogLogger(quiet.Handler(), slog.LevelDebug),
		TLSConfig: c.ca.TLS(func() (*tls.Certificate, error) { return &own, nil }, session.Protocol),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){
			session.Protocol: func(s *http.Server, conn *tls.Conn, h http.Handler) {
				accept(s, conn, h)
				c.left <- struct{}{}
			},
		},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.address = listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { _ = server.ServeTLS(listener, "", "") })
	t.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
	return c
}

func found(t *testing.T) *authority.Authority {
	t.Helper()
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// certificate returns one that an authority gives a node.
func certificate(t *testing.T, ca *authority.Authority, id string) *tls.Certificate {
	t.Helper()
	key, request, err := authority.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	text, err := ca.Node(authority.Machine{Node: id}, request)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nodeapitest.Pair(text, key)
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}

// dial connects to the server with a certificate.
func (c *cluster) dial(ctx context.Context, own *tls.Certificate) (net.Conn, error) {
	config, err := authority.NodeTLS(c.ca.PEM(), func() (*tls.Certificate, error) { return own, nil }, session.Protocol)
	if err != nil {
		return nil, err
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return session.Plain(conn), nil
}

// link is the node's end of a connection.
type link struct {
	conn net.Conn
	// ended is closed when the node serves it no longer.
	ended chan struct{}
}

// cut ends the connection without a word.
func (l *link) cut() { _ = l.conn.Close() }

// connect serves a node over a connection of its own until the test ends.
func (c *cluster) connect(id string, n nodeapi.Node, ready <-chan struct{}) *link {
	c.t.Helper()
	conn, err := c.dial(c.t.Context(), certificate(c.t, c.ca, id))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{conn: conn, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		session.Serve(ctx, conn, n, ready, quiet)
	}()
	c.t.Cleanup(func() {
		cancel()
		<-l.ended
	})
	return l
}

// node waits for a node in the fleet.
func (c *cluster) node(id string) (found nodeapi.Node) {
	c.t.Helper()
	eventually(c.t, "the node is connected", func() (err error) {
		found, err = c.fleet.Node(id)
		return err
	})
	return found
}

// serve connects a node that is ready, and returns the server's end and the node's.
func serve(t *testing.T, n nodeapi.Node) (nodeapi.Node, *link) {
	t.Helper()
	c := newCluster(t)
	l := c.connect("n1", n, closedChannel())
	return c.node("n1"), l
}

func closedChannel() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// eventually waits until a check passes.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("%s: never: %v", what, err)
		}
	}
}

// await waits for a value of a channel.
func await[T any](t *testing.T, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatalf("%s: never", what)
	}
	return value
}

// goes runs a function beside the test and returns its error.
func goes(f func() error) <-chan error {
	out := make(chan error, 1)
	go func() { out <- f() }()
	return out
}

func closeAll(t *testing.T, all ...io.Closer) {
	t.Helper()
	for _, c := range all {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
