package agent

import (
	"context"
	"maps"
	"net/netip"
	"sync"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/platform/recovery"
)

// How often a relay is tried: soon again while it can't be asked. A change of where it is makes it due at once.
const (
	tryFailing = 3 * time.Second
	tryWorking = 30 * time.Second
	// atOnce is the number of nodes tried at the same time.
	atOnce = 8
	// maxReason bounds what is reported of one node, in bytes.
	maxReason = 512
)

// errNoRelay is the error for a node that takes no connections.
const errNoRelay = "it takes no connections of other nodes: start it with --relay-listen"

// reach knows which of the nodes that have pods for this node's proxy can be asked for them, and why others can't.
type reach struct {
	try     func(ctx context.Context, to relay.Target, at netip.AddrPort) error
	changed func()
	wake    chan struct{}

	mu     sync.Mutex
	wanted map[string]node.Relay
	known  map[string]tried
}

// tried is the last attempt at a relay.
type tried struct {
	relay  node.Relay
	reason string // empty if it can be asked
	due    time.Time
}

// newReach returns one that calls changed, which must not block, when a node is reached or isn't any more.
func newReach(try func(context.Context, relay.Target, netip.AddrPort) error, changed func()) *reach {
	return &reach{try: try, changed: changed, wake: make(chan struct{}, 1), known: map[string]tried{}}
}

// want takes note of the nodes whose pods the proxy serves.
func (r *reach) want(own string, served node.Served, relays map[string]node.Relay) {
	wanted := map[string]node.Relay{}
	for _, service := range served.Services {
		for _, pod := range service.Pods {
			if pod.Node != own && pod.Ready {
				wanted[pod.Node] = relays[pod.Node]
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if maps.Equal(wanted, r.wanted) {
		return
	}
	r.wanted = wanted
	maps.DeleteFunc(r.known, func(name string, t tried) bool { now, is := wanted[name]; return !is || now != t.relay })
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// unreached returns the nodes that can't be asked, and why.
func (r *reach) unreached() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out map[string]string
	for name, t := range r.known {
		if t.reason == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = t.reason
	}
	return out
}

// run tries the relays until ctx ends.
func (r *reach) run(ctx context.Context) error {
	if r.try == nil {
		<-ctx.Done()
		return nil
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-timer.C:
		}
		due, next := r.due(time.Now())
		if len(due) > 0 {
			r.attempt(ctx, due)
			_, next = r.due(time.Now())
		}
		timer.Reset(next)
	}
}

// due returns which relays are to be tried now, and after what time the next one is.
func (r *reach) due(now time.Time) (due map[string]node.Relay, next time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	due, next = map[string]node.Relay{}, tryWorking
	for name, to := range r.wanted {
		t, known := r.known[name]
		if left := t.due.Sub(now); !known || left <= 0 {
			due[name] = to
		} else {
			next = min(next, left)
		}
	}
	return due, next
}

func (r *reach) attempt(ctx context.Context, due map[string]node.Relay) {
	var running recovery.Group
	places := make(chan struct{}, atOnce)
	for name, to := range due {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			reason := errNoRelay
			if to.Address.IsValid() {
				reason = ""
				if err := r.try(ctx, relay.Target{Node: name, UID: to.UID}, to.Address); err != nil {
					reason = err.Error()
					reason = reason[:min(len(reason), maxReason)] // the other node may have made it up
				}
			}
			r.note(name, to, reason)
		})
	}
	running.Wait()
}

func (r *reach) note(name string, to node.Relay, reason string) {
	r.mu.Lock()
	if r.wanted[name] != to {
		r.mu.Unlock()
		return
	}
	before, known := r.known[name]
	wait := tryWorking
	if reason != "" {
		wait = tryFailing
	}
	r.known[name] = tried{relay: to, reason: reason, due: time.Now().Add(wait)}
	r.mu.Unlock()
	if !known && reason != "" || before.reason != reason {
		r.changed()
	}
}
