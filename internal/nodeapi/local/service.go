package local

import (
	"io"
	"slices"
	"sync"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/view"
)

// Decrypter opens what lies encrypted in the store.
type Decrypter interface {
	Decrypt(sealed []byte) ([]byte, error)
}

// Options make a Service. Store, View and Keys are needed.
type Options struct {
	Store store.Store
	// View must be fed with layout.Decode and layout.Indexes, and must not run yet.
	View *view.View
	Keys Decrypter
	// Blobs opens the bytes of a digest; node.ErrNoBlob where there are none. Default: there are none at all.
	Blobs func(digest string) (io.ReadCloser, error)
	// Certificates keep what proxies obtained; nil where no node has a proxy.
	Certificates certmagic.Storage
	// Callback is where the containers of an object call the server back, empty where they don't. Default: none does.
	Callback func(object api.Object) string
}

// Service is the control plane's side of the node protocol. Make it with New.
type Service struct {
	Options

	mu       sync.Mutex
	controls map[string][]*Control // by node: one that comes back may be connected twice for a while
}

// New makes a Service. It listens to the view, so it is made before the view runs.
func New(o Options) *Service {
	s := &Service{Options: o, controls: map[string][]*Control{}}
	o.View.OnChange(s.changed)
	return s
}

// Node is what a node of that id may see and say, until it is closed.
func (s *Service) Node(id string) *Control {
	c := &Control{Service: s, node: id}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controls[id] = append(s.controls[id], c)
	return c
}

// ID is the node's.
func (c *Control) ID() string { return c.node }

// Close ends the notifications of a node's connection.
func (c *Control) Close() {
	s := c.Service
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controls[c.node] = slices.DeleteFunc(slices.Clone(s.controls[c.node]), func(other *Control) bool { return other == c })
	if len(s.controls[c.node]) == 0 {
		delete(s.controls, c.node)
	}
}

func (s *Service) snapshot() layout.Snapshot { return layout.Snapshot{Reader: s.View.Snapshot()} }

// notify passes a change on to a node, or with no name to every node.
func (s *Service) notify(id string, change node.Change) {
	s.mu.Lock()
	controls := s.controls[id]
	if id == "" {
		for _, each := range s.controls {
			controls = append(controls, each...)
		}
	}
	s.mu.Unlock()
	for _, c := range controls {
		c.notify(change)
	}
}
