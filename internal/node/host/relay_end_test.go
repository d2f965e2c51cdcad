package host

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/reconciler"
)

// plane is a control plane whose table changes.
type plane struct {
	nodeapi.Control
	synced      chan struct{}
	subscribers []func(node.Change)

	mu sync.Mutex
	at []node.At
}

func (p *plane) Synced() <-chan struct{}        { return p.synced }
func (p *plane) Subscribe(fn func(node.Change)) { p.subscribers = append(p.subscribers, fn) }
func (p *plane) Relays() map[string]node.Relay  { return map[string]node.Relay{"worker": {UID: "w"}} }
func (p *plane) Task(id string) (node.Assignment, bool) {
	return node.Assignment{Task: web}, id == web.ID
}

func (p *plane) Served() node.Served {
	p.mu.Lock()
	defer p.mu.Unlock()
	return node.Served{Services: map[string]node.Service{"shop/web": {At: p.at}}}
}

// leads sets the ports that ingresses lead to, and announces it.
func (p *plane) leads(at ...node.At) {
	p.mu.Lock()
	p.at = at
	p.mu.Unlock()
	for _, fn := range p.subscribers {
		fn(node.Change{Served: true})
	}
}

var web = api.Task{ID: "t1", Kind: api.KindDeployment, Scope: "shop", Name: "web"}

// TestAPortOfEveryNodeEnds: the connections that other nodes made for it end with it.
func TestAPortOfEveryNodeEnds(t *testing.T) {
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	own := func(is authority.Machine) *authority.Own {
		pair, err := ca.Client(is, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return &authority.Own{Certificate: func() (*tls.Certificate, error) { return &pair, nil }, Roots: ca.PEM}
	}
	p := &plane{synced: make(chan struct{})}
	close(p.synced)
	h, err := Open(t.Context(), Options{
		Root: t.TempDir(), Node: "here", Runtime: runtimeProcess, RelayListen: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
		Engine: func(cluster, node string) (runtime.Runtime, error) {
			return hollow.NewEngine().Client(cluster, node), nil
		},
	}, Link{Cluster: "c0ffee", Control: p, Registry: prometheus.NewRegistry(),
		Metrics: reconciler.NewMetrics(prometheus.NewRegistry()), Own: own(authority.Machine{Node: "here", UID: "h"})})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pod.Close()
	h.relay.Endpoint = func(string, int, string) (string, error) { return pod.Addr().String(), nil }
	p.leads(node.At{Port: 80, Protocol: "tcp", Every: true})
	go func() { _ = h.relay.run(t.Context()) }()
	raw, err := net.Dial("tcp", h.relay.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := relay.Open(t.Context(), *own(authority.Machine{Node: "worker", UID: "w"}), raw,
		relay.Target{Node: "here", UID: "h", Task: web.ID, Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p.leads(node.At{Port: 80, Protocol: "tcp"}) // an ingress with a host leads there still
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still there:", err)
	}
}
