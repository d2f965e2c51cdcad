package ingress

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// await finds the backend of a request. If its route is paused, or has no ready pod, the request waits for a table that
// serves it: so a replacement without a second pod is a delay, not an error. It returns nil if no route matches.
func (p *Proxy) await(r *http.Request, secure bool) *backend {
	now := p.routing.Load()
	b := now.find(r)
	if b == nil || b.serves() || b.Secure && !secure || p.opts.Hold < 0 {
		return b
	}
	return p.holds(r.Context(), now, b, func(v *routing) *backend { return v.find(r) })
}

// awaitPort is await for the traffic of a port.
func (p *Proxy) awaitPort(ctx context.Context, at api.Listen) *backend {
	now := p.routing.Load()
	b := now.at(at)
	if b == nil || b.serves() || p.opts.Hold < 0 {
		return b
	}
	return p.holds(ctx, now, b, func(v *routing) *backend { return v.at(at) })
}

// holds waits, for as long as a request may wait, for a table in which find returns a backend that serves.
func (p *Proxy) holds(ctx context.Context, now *routing, b *backend, find func(*routing) *backend) *backend {
	waiting := b.series // waiting counts for the ingress it began with, even if the next table moves the route
	each, all := waiting.held.Add(1), p.held.Add(1)
	defer waiting.held.Add(-1)
	defer p.held.Add(-1)
	if each > maxHeldEach || all > maxHeld {
		return b
	}
	timer := time.NewTimer(p.opts.Hold)
	defer timer.Stop()
	for {
		select {
		case <-now.over:
		case <-timer.C:
			return b
		case <-ctx.Done():
			return b
		}
		now = p.routing.Load()
		if b = find(now); b == nil || b.serves() {
			return b
		}
	}
}

func (v *routing) at(port api.Listen) *backend { return v.backends[v.table.ports[port]] }

func (v *routing) find(r *http.Request) *backend {
	return v.backends[v.table.Match(r.Host, r.URL.Path)]
}

// serves reports whether a request needn't wait: the backend has a pod, or an answer without one.
func (b *backend) serves() bool {
	return b.Mode == ModeMaintenance || b.Mode == ModeServe && len(b.pods) > 0
}
