package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Decrypter decrypts values of the store.
type Decrypter interface {
	Decrypt(sealed []byte) ([]byte, error)
}

// Options are the options of a Service. Store, View and Keys are required.
type Options struct {
	Store store.Store
	// View must be fed with records.Decode and records.Indexes, and must not run yet.
	View *view.View
	Keys Decrypter
	// Blobs opens the content of a digest; node.ErrNoBlob if there is none. Default: there are none at all.
	Blobs func(digest string) (io.ReadCloser, error)
	// ImageOf reads an image of a node as nodeapi.Node's SaveImage does; nil if images don't travel.
	ImageOf func(ctx context.Context, on, image string, has node.Part) (io.ReadCloser, error)
	// FindOn asks a node for an image as nodeapi.Node's FindImage does. Default: none is asked.
	FindOn func(ctx context.Context, on, scope, image string) (node.FoundImage, error)
	// Own is the node of this server itself; empty if it has none.
	Own string
	// Timeout is the time for which a node may be silent. Default 30 s.
	Timeout time.Duration
	// Lease is the validity of a heartbeat, whatever a node asks for: Timeout without nodeapi.Gather. Default Timeout.
	Lease time.Duration
	// Heartbeat is the time between two heartbeats of a node, as this server's own is set. Default 5 s.
	Heartbeat time.Duration
	// Server is the name under which others see that this server runs, and Life the time at which it was started. It is
	// empty if this server is alone.
	Server string
	Life   time.Time
	// FormerLeader returns the latest time at which a former leader of the store can have taken a heartbeat. It changes
	// when another leader is elected. Default: the store has had no other leader.
	FormerLeader func() time.Time
	// Certificates stores what proxies obtained; nil if no node has a proxy.
	Certificates certmagic.Storage
	// Sign signs a certificate for names that an ingress declares, in PEM, by the cluster's own authority. Default:
	// there is none.
	Sign func(ctx context.Context, request *x509.CertificateRequest) ([]byte, error)
	// CallbackPath returns the path at which the containers of an object call the server back, empty if they don't.
	// Default: none does.
	CallbackPath func(object api.Object) string
}

// The time for which a node may be silent, and the time between its heartbeats, if nothing else is set.
const (
	defaultTimeout   = 30 * time.Second
	defaultHeartbeat = 5 * time.Second
)

// Service is the control plane's side of the node protocol. Create it with New.
type Service struct {
	Options

	epoch string // names this life of the server

	storing  sync.Mutex // held while a file of a certificate is stored
	audience audience
	asked    asked

	environments environments
	pods         placed

	mu       sync.Mutex
	controls map[string][]*Control // by node: one that comes back may be connected twice for a while
	hears    map[string]hearing    // by node: those that sent a heartbeat here while it lasts
}

// New returns a Service. It subscribes to the view, so it must be called before the view runs.
func New(o Options) *Service {
	if o.Lease <= 0 {
		o.Lease = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	}
	if o.FormerLeader == nil {
		o.FormerLeader = func() time.Time { return time.Time{} }
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	o.Heartbeat = cmp.Or(max(o.Heartbeat, 0), defaultHeartbeat)
	s := &Service{Options: o, epoch: rand.Text(), controls: map[string][]*Control{}, hears: map[string]hearing{}}
	o.View.OnChange(s.changed)
	return s
}

// Node returns what a node of that id may read and report, until it is closed.
func (s *Service) Node(id string) *Control {
	c := &Control{Service: s, node: id}
	c.certificates = &certificates{c: c, all: s.Options.Certificates}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controls[id] = append(s.controls[id], c)
	return c
}

// ID returns the node's id.
func (c *Control) ID() string { return c.node }

// Close ends the notifications of a node's connection.
func (c *Control) Close() {
	s := c.Service
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controls[c.node] = slices.DeleteFunc(slices.Clone(s.controls[c.node]),
		func(other *Control) bool { return other == c })
	if len(s.controls[c.node]) == 0 {
		delete(s.controls, c.node)
	}
}

func (s *Service) snapshot() records.Snapshot { return records.Snapshot{Reader: s.View.Snapshot()} }

// withoutHeartbeat returns the connected nodes whose heartbeat isn't stored.
func (s *Service) withoutHeartbeat(snap records.Snapshot) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.controls {
		if !snap.Alive(id) {
			out = append(out, id)
		}
	}
	return out
}

// notify passes a change on to the nodes that an interest names.
func (s *Service) notify(to interest, change node.Change) {
	var controls []*Control
	s.mu.Lock()
	if to.all {
		for _, each := range s.controls {
			controls = append(controls, each...)
		}
	} else {
		for _, id := range to.nodes {
			controls = append(controls, s.controls[id]...)
		}
	}
	s.mu.Unlock()
	for _, c := range controls {
		c.notify(change)
	}
}
