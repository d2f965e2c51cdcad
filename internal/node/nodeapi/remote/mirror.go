package remote

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/cenkalti/backoff/v5"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/platform/recovery"
)

// errSilent means that the server sent nothing, not even a heartbeat.
var errSilent = errors.New("the server is silent")

func newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = firstWait, longWait, 2
	return b
}

// contents holds what a node may see.
type contents struct {
	tasks    map[string]node.Assignment
	images   map[api.Ref]node.ImageAssignment
	table    node.Table
	services map[string]node.Service
	network  node.Network
	pods     map[string]node.Pods
	relays   map[string]node.Relay
}

func newContents() contents {
	return contents{
		tasks: map[string]node.Assignment{}, images: map[api.Ref]node.ImageAssignment{}, services: map[string]node.Service{},
		relays: map[string]node.Relay{},
	}
}

// mirror keeps what the node may see, from frames. While a listing arrives, the previous state stays.
type mirror struct {
	synced chan struct{}

	mu          sync.RWMutex
	known       contents
	listing     *contents // nil while none arrives
	revision    int64
	epoch       string        // of which revision is one
	moved       chan struct{} // closed when revision grows
	subscribers []func(node.Change)
}

func newMirror() *mirror {
	return &mirror{synced: make(chan struct{}), known: newContents(), moved: make(chan struct{})}
}

// Synced implements nodeapi.Control.
func (m *mirror) Synced() <-chan struct{} { return m.synced }

// Subscribe implements nodeapi.Control.
func (m *mirror) Subscribe(fn func(node.Change)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscribers = append(m.subscribers, fn)
}

// begin prepares for another stream: a listing that was cut is dropped.
func (m *mirror) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listing = nil
}

// apply applies a frame, then notifies of what is to be reconciled for it.
func (m *mirror) apply(frame node.Frame) {
	m.mu.Lock()
	changes := m.take(frame)
	subscribers := m.subscribers
	m.mu.Unlock()
	for _, change := range changes {
		for _, notify := range subscribers {
			_ = recovery.Call(func() error { notify(change); return nil })
		}
	}
}

func (m *mirror) take(frame node.Frame) []node.Change {
	changes := frame.Changes
	if frame.Reset {
		fresh := newContents()
		m.listing = &fresh
	}
	into := &m.known
	if m.listing != nil {
		into = m.listing
	}
	into.take(frame)
	if frame.Revision == 0 {
		return changes
	}
	if m.listing != nil {
		changes = m.known.differences(*m.listing)
		m.known, m.listing = *m.listing, nil
	}
	if m.revision == 0 {
		close(m.synced)
		changes = nil // nothing was known before: those that wait for the beginning read everything
	}
	m.revision = frame.Revision
	if frame.Epoch != "" {
		m.epoch = frame.Epoch
	}
	close(m.moved)
	m.moved = make(chan struct{})
	return changes
}

func (c *contents) take(frame node.Frame) {
	for _, entry := range frame.Tasks {
		if entry.Assignment == nil {
			delete(c.tasks, entry.ID)
		} else {
			c.tasks[entry.ID] = *entry.Assignment
		}
	}
	for _, entry := range frame.Images {
		if entry.Assignment == nil {
			delete(c.images, entry.Owner)
		} else {
			c.images[entry.Owner] = *entry.Assignment
		}
	}
	if frame.Table != nil { // its frame has all services that it names
		c.table, c.services = *frame.Table, map[string]node.Service{}
	} else if len(frame.Services) > 0 {
		c.services = maps.Clone(c.services) // Served returns the old one
	}
	c.connect(frame)
	for name, service := range frame.Services {
		if service == nil {
			delete(c.services, name)
		} else {
			c.services[name] = *service
		}
	}
}

// differences returns what to reconcile after a listing: everything that may have changed unseen.
func (c contents) differences(next contents) []node.Change {
	changes := []node.Change{{Served: true}, {Network: true, Pods: true}}
	for _, tasks := range []map[string]node.Assignment{c.tasks, next.tasks} {
		for id := range tasks {
			changes = append(changes, node.Change{Task: id})
		}
	}
	for _, images := range []map[api.Ref]node.ImageAssignment{c.images, next.images} {
		for owner := range images {
			changes = append(changes, node.Change{Image: owner})
		}
	}
	return changes
}

// position returns the request that continues where the mirror is.
func (m *mirror) position() string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return "follow?" + url.Values{"since": {strconv.FormatInt(m.revision, 10)}, "epoch": {m.epoch}}.Encode()
}

func (m *mirror) revisionNow() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.revision
}

// waitFor returns once the mirror shows a revision.
func (m *mirror) waitFor(ctx context.Context, revision int64) error {
	for {
		m.mu.RLock()
		reached, moved := m.revision >= revision, m.moved
		m.mu.RUnlock()
		if reached {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Tasks implements nodeapi.Control.
func (m *mirror) Tasks() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.known.tasks))
}

// Task implements nodeapi.Control.
func (m *mirror) Task(id string) (node.Assignment, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	assigned, known := m.known.tasks[id]
	return assigned, known
}

// Images implements nodeapi.Control.
func (m *mirror) Images() []api.Ref {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Keys(m.known.images))
}

// Image implements nodeapi.Control.
func (m *mirror) Image(owner api.Ref) node.ImageAssignment {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known.images[owner]
}

// Served implements nodeapi.Control.
func (m *mirror) Served() node.Served {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return node.Served{Table: m.known.table, Services: m.known.services}
}
