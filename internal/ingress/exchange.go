package ingress

import (
	"context"
	"io"
	"net/http/httptrace"
	"time"
)

// exchange is one request on its way, and the context of that: the reverse proxy hands it on.
type exchange struct {
	context.Context
	proxy      *Proxy
	host, path string // as the client asked
	backend    *backend
	client     string // its address
	pod        *pod   // who answered
	asking     *pod   // who is asked
	offered    bool   // whether it was offered to a pod
	// connections are those that the request was given to reach it.
	connections int
	answer      io.Closer
	body        *sent // nil where the client sends none
	failure     error
}

// look takes the newest table into account, where the route is still in it.
func (x *exchange) look() {
	now := x.proxy.picture.Load()
	if route := now.table.Match(x.host, x.path); route != nil {
		x.backend = now.backends[route]
	}
}

// take chooses a pod that wasn't tried and counts the request in. One that leaves the table meanwhile is passed over.
func (x *exchange) take(tried []*pod, now time.Time) *pod {
	for {
		p := x.backend.choose(x.client, tried, now)
		if p == nil || p.begin() {
			return p
		}
		before := x.backend
		if x.look(); x.backend == before {
			tried = append(tried, p)
		}
	}
}

// first says whether the request is offered for the first time.
func (x *exchange) first() bool {
	before := x.offered
	x.offered = true
	return !before
}

// connected counts the connections that the request was given. net/http gives it another one where one that was kept ended under it:
// most likely the pod closed that just then. But it may be the request that ends them; so the kept ones are closed at the second,
// and what comes after it is a new one, which is the last.
func (x *exchange) connected(got httptrace.GotConnInfo) {
	if kept, ok := got.Conn.(*line); ok && got.Reused && !kept.silent() {
		_ = kept.Close()
	}
	if x.connections++; x.connections > 1 {
		x.asking.lines.closeIdle()
	}
}

// close ends the pod's answer, for the pod to be free of the request. The reverse proxy doesn't where it can't pass it on.
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
