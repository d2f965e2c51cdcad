package ingress

import (
	"context"
	"io"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/node/relay"
)

// exchange is one request in flight, and also its context: the reverse proxy passes it on.
type exchange struct {
	context.Context
	proxy      *Proxy
	host, path string // as the client sent them
	backend    *backend
	from       origin
	pod        *pod // the pod that answered
	asking     *pod // the pod that is being asked
	offered    bool // whether it was offered to a pod
	// hurried is set while another pod could be asked instead of asking. A dial that outlives its request reads it too.
	hurried atomic.Bool
	// connections counts the connections that the transport gave the request.
	connections int
	answer      io.Closer
	body        *sent // nil if the client sends no body
	failure     error
}

// refresh switches to the newest table, if the route is still in it.
func (x *exchange) refresh() {
	now := x.proxy.routing.Load()
	if route := now.table.Match(x.host, x.path); route != nil {
		x.backend = now.backends[route]
	}
}

// take chooses a pod that wasn't tried and counts the request as in flight. It skips a pod that the table drops
// meanwhile.
func (x *exchange) take(tried []*pod, now time.Time) *pod {
	for {
		p := x.backend.choose(x.from.client, tried, now)
		if p == nil || p.acquire() {
			return p
		}
		before := x.backend
		if x.refresh(); x.backend == before {
			tried = append(tried, p)
		}
	}
}

// ask notes the pod that is asked next; tried contains it.
func (x *exchange) ask(p *pod, tried []*pod, now time.Time) {
	x.asking, x.connections = p, 0
	if p.Via != (relay.Target{}) {
		x.hurried.Store(len(tried) < maxTries && slices.ContainsFunc(x.backend.pods,
			func(other *pod) bool { return !slices.Contains(tried, other) && !other.ejected(now) }))
	}
}

// first reports whether the request is offered for the first time.
func (x *exchange) first() bool {
	before := x.offered
	x.offered = true
	return !before
}

// connected counts the connections that net/http gave to the request, and closes a reused one on which the pod has sent
// unrequested data. If a reused connection ends, net/http retries on another: most likely the pod closed the first one
// just then. But the request itself may be what ends them. So at the second connection, connected closes all reused
// ones: the next is a new connection, and the last.
func (x *exchange) connected(got httptrace.GotConnInfo) {
	if kept, ok := got.Conn.(interface {
		io.Closer
		silent() bool
	}); ok && got.Reused && !kept.silent() {
		_ = kept.Close()
	}
	if x.connections++; x.connections > 1 {
		x.asking.lines.closeIdle()
	}
}

// relayed reports whether the chosen pod is on another node.
func (x *exchange) relayed() bool { return x.asking != nil && x.asking.Via != relay.Target{} }

// close ends the pod's answer, so that the pod no longer counts the request. The reverse proxy doesn't do so for an
// answer that it can't pass on.
func (x *exchange) close() {
	if x.answer != nil {
		_ = x.answer.Close()
	}
}

type exchangeKey struct{}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(key)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}
