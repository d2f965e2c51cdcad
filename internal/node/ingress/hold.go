package ingress

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// await finds the backend of a request. Where its route is paused, or has no pod that is ready, the request waits for a
// table that serves it: a replacement without a second pod is a delay then, not an error. It is nil if no route
// fits.
func (p *Proxy) await(r *http.Request, secure bool) *backend {
	now := p.routing.Load()
	b := now.find(r)
	if b == nil || b.serves() || b.Secure && !secure || p.opts.Hold < 0 {
		return b
	}
	return p.holds(r.Context(), now, b, func(v *routing) *backend { return v.find(r) })
}

// awaitPort is await for what comes in at a port.
func (p *Proxy) awaitPort(ctx context.Context, at api.Listen) *backend {
	now := p.routing.Load()
	b := now.at(at)
	if b == nil || b.serves() || p.opts.Hold < 0 {
		return b
	}
	return p.holds(ctx, now, b, func(v *routing) *backend { return v.at(at) })
}

// holds waits for a table that serves what find finds in it, for as long as a request waits.
func (p *Proxy) holds(ctx context.Context, now *routing, b *backend, find func(*routing) *backend) *backend {
	waiting := b.series // that of the ingress it waits for, whatever the next table makes of the route
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

// serves reports whether a request needn't wait: there is a pod, or an answer without one.
func (b *backend) serves() bool {
	return b.Mode == ModeMaintenance || b.Mode == ModeServe && len(b.pods) > 0
}
