package ingress

import (
	"net/http"
	"time"
)

// await finds the backend of a request. Where its route is paused, or has no pod that is ready, the request waits for a
// table that serves it: a replacement without a second pod is a delay then, not an error. It is nil if no route
// fits.
func (p *Proxy) await(r *http.Request) *backend {
	routing := p.routing.Load()
	b := routing.find(r)
	if b == nil || b.serves() || b.Secure && r.TLS == nil || p.opts.Hold < 0 {
		return b
	}
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
		case <-routing.over:
		case <-timer.C:
			return b
		case <-r.Context().Done():
			return b
		}
		routing = p.routing.Load()
		if b = routing.find(r); b == nil || b.serves() {
			return b
		}
	}
}

func (v *routing) find(r *http.Request) *backend {
	return v.backends[v.table.Match(r.Host, r.URL.Path)]
}

// serves reports whether a request needn't wait: there is a pod, or an answer without one.
func (b *backend) serves() bool {
	return b.Mode == ModeMaintenance || b.Mode == ModeServe && len(b.pods) > 0
}
