package ingress

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/platform/recovery"
)

// How long a pod whose connections fail gets no requests: doubled with each failure in a row, reset by a success.
const (
	firstEjection = time.Second
	maxEjection   = 30 * time.Second
)

// pod holds what the proxy learns about one pod from its requests. It outlives tables.
type pod struct {
	Pod
	active atomic.Int64
	// removed is set once the table no longer contains the pod. A request that sees it set must pick another pod.
	removed atomic.Bool
	lines   *lines

	failing  atomic.Bool // whether failures is more than 0
	mu       sync.Mutex
	failures int
	until    time.Time // no requests before
	// reach opens a connection to a pod of another node; nil for one of this node.
	reach func(context.Context) error
	// probing is set while reach runs, reached once it has succeeded since the last failure.
	probing, reached bool
	idle             chan struct{} // closed when the last request ended; nil while nothing waits for that
}

// acquire counts a request as in flight. It returns false if the table no longer contains the pod, because its drain
// may already be over; the caller must then pick another one.
func (p *pod) acquire() bool {
	p.active.Add(1)
	if !p.removed.Load() {
		return true
	}
	p.release()
	return false
}

// markRemoved marks a pod that the table no longer contains, and closes its idle connections.
func (p *pod) markRemoved() {
	p.removed.Store(true) // before active is read: see acquire
	p.lines.closeIdle()
}

func (p *pod) release() {
	if p.active.Add(-1) > 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil && p.active.Load() == 0 {
		close(p.idle)
		p.idle = nil
	}
}

// failed counts a connection that could not be made, or that ended before an answer began.
func (p *pod) failed(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := maxEjection
	if p.failures < 5 {
		pause = firstEjection << p.failures
	}
	p.failures++
	p.until, p.reached = now.Add(pause), false
	p.failing.Store(true)
}

func (p *pod) worked() {
	if !p.failing.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures, p.until = 0, time.Time{}
	p.failing.Store(false)
}

func (p *pod) ejected(now time.Time) bool {
	if !p.failing.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.until) || p.reach == nil || p.reached {
		return now.Before(p.until)
	}
	if !p.probing {
		p.probing = true
		recovery.Go(p.probe)
	}
	return true
}

// probe tries to reach the pod. A node that has vanished or stands still lets each try wait for seconds, so no request
// makes it.
func (p *pod) probe() {
	err := errNoRelay
	defer func() { // also after a panic
		if err != nil && p.failing.Load() { // no request has succeeded meanwhile
			p.failed(time.Now())
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.probing, p.reached = false, err == nil
	}()
	err = p.reach(context.Background()) // which takes 6.5 s at most
}

// drained waits until the pod has no request in flight.
func (p *pod) drained(ctx context.Context) error {
	p.mu.Lock()
	if p.active.Load() == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pods are all pods that are in the table or may still have a request in flight, by name and address.
type pods struct {
	answer time.Duration // how long a pod may take to begin its answer
	// relayed connects to a pod of another node.
	relayed Relayed
	// resends is maxResends, but in tests.
	resends uint8
	mu      sync.Mutex
	known   map[Pod]*pod
}

// opening returns the handshake on a new connection to a pod of another node, for HTTP or for other protocols; nil for
// a pod that is reached at its own address.
func (p *pods) opening(to Pod, http bool) opening {
	if to.Via == (relay.Target{}) {
		return nil
	}
	to.Via.HTTP = http
	return func(ctx context.Context, conn net.Conn) (*tls.Conn, error) {
		if p.relayed == nil {
			_ = conn.Close()
			return nil, errNoRelay
		}
		endWithPeer(conn, p.resends)
		return p.relayed(ctx, conn, to.Via)
	}
}

// dial opens a connection to a pod. The relay of another node is reached over TCP, whatever the pod's protocol.
func (p *pods) dial(ctx context.Context, protocol string, to Pod) (net.Conn, error) {
	if to.Via != (relay.Target{}) {
		protocol = api.ProtocolTCP
	}
	return p.opening(to, false).after(dialer.DialContext)(ctx, protocol, to.Address)
}

// reach returns a function that reports whether a pod of another node can be reached; nil for one of this node, which
// refuses at once.
func (p *pods) reach(to Pod) func(context.Context) error {
	if to.Via == (relay.Target{}) {
		return nil
	}
	return func(ctx context.Context) error {
		conn, err := p.dial(ctx, api.ProtocolTCP, to)
		if err != nil {
			return err
		}
		_ = conn.Close() // it was reached, however it says goodbye
		return nil
	}
}

// update adds the pods of a new table and forgets dropped pods that get no more requests. The caller calls markRemoved
// on those in left once the table is in force: a request that chose one of them then finds another pod in the new
// table. Until then the old table leads to them, and a drain waits for such requests.
func (p *pods) update(routes []Route) (wanted map[Pod]*pod, left []*pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = map[Pod]*pod{}
	for _, route := range routes {
		for _, served := range route.Pods {
			known := p.known[served]
			if known == nil {
				known = &pod{Pod: served, lines: newLines(p.answer, p.opening(served, true)), reach: p.reach(served)}
			}
			wanted[served] = known
		}
	}
	next := make(map[Pod]*pod, len(wanted))
	for key, known := range wanted {
		known.removed.Store(false)
		next[key] = known
	}
	for key, known := range p.known {
		if next[key] == nil {
			left = append(left, known)
			if !known.removed.Load() || known.active.Load() > 0 {
				next[key] = known
			}
		}
	}
	p.known = next
	return wanted, left
}

// named returns the pods of a name: more than one while its address changes.
func (p *pods) named(name string) []*pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*pod
	for key, known := range p.known {
		if key.Name == name {
			out = append(out, known)
		}
	}
	return out
}
