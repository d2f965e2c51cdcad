package ingress

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/node/relay"
)

// DefaultHold is the time for which a request waits for a pod if none is ready, or while its route is paused.
const DefaultHold = 10 * time.Second

// DefaultAnswer is the time in which a pod must begin its answer.
const DefaultAnswer = 10 * time.Minute

// How many requests wait at the same time, of one ingress and of all. Further ones are answered at once.
const (
	maxHeldEach = 1024
	maxHeld     = 4096
)

// statusLeft is the status recorded for a request whose client left before the answer; no client reads it.
const statusLeft = 499

// Options make a Proxy.
type Options struct {
	// Hold is the time for which a request waits for a pod if none is ready, or while its route is paused. Default
	// DefaultHold; negative means no wait.
	Hold time.Duration
	// Answer is the time in which a pod must begin its answer to a request. It doesn't apply to gRPC, whose clients set
	// their own deadlines. Default DefaultAnswer.
	Answer time.Duration
	// Relayed connects to a pod of another node, over a new connection to that node's relay, which it closes if it fails.
	// Default: such pods can't be reached.
	Relayed Relayed
	// Trusted are the networks of proxies in front of this one, whose X-Forwarded-* headers are trusted. Default: none.
	Trusted []netip.Prefix
	// SecurePort is the port to which plain requests for routes with TLS are redirected. Default 443.
	SecurePort int
	// Registry gets the proxy's metrics; nil exports none.
	Registry prometheus.Registerer
	// Access receives a line for each request; nil writes none.
	Access *slog.Logger
	Logger *slog.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Relayed is relay.Open with the node's own certificate.
type Relayed func(ctx context.Context, conn net.Conn, to relay.Target) (*tls.Conn, error)

// Proxy serves requests by the newest table. Safe for concurrent use.
type Proxy struct {
	opts     Options
	updating sync.Mutex // one update at a time
	routing  atomic.Pointer[routing]
	pods     pods
	metrics  *metrics
	unrouted *series // requests of hosts that no ingress has
	held     atomic.Int64
	body     time.Duration // bodyTime; shorter in tests
	bodyRate int           // bodyRate; higher in tests
	reverse  *httputil.ReverseProxy
}

// routing is one routing table with the states of its pods.
type routing struct {
	table    *Table
	backends map[*Route]*backend
	// over is closed when the next table is in force.
	over chan struct{}
}

// New makes a Proxy that serves nothing yet.
func New(opts Options) *Proxy {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Hold = cmp.Or(opts.Hold, DefaultHold)
	opts.Answer = cmp.Or(opts.Answer, DefaultAnswer)
	opts.SecurePort = cmp.Or(opts.SecurePort, 443)
	p := &Proxy{opts: opts, body: bodyTime, bodyRate: bodyRate, metrics: newMetrics(opts.Registry)}
	p.unrouted = p.metrics.of("")
	p.reverse = &httputil.ReverseProxy{
		Rewrite:      rewrite,
		Transport:    &spread{now: opts.Now, retry: min(retryFor, max(opts.Hold, 0)), hold: max(opts.Hold, 0)},
		ErrorHandler: p.fail,
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // the access log has these errors
		BufferPool:   &buffers{},
	}
	p.pods.answer, p.pods.relayed, p.pods.resends = opts.Answer, opts.Relayed, maxResends
	p.Update(nil)
	return p
}

// Update replaces the table. Requests in flight end at the pods they are at.
func (p *Proxy) Update(routes []Route) {
	p.updating.Lock()
	defer p.updating.Unlock()
	states, left := p.pods.update(routes)
	turns, served := map[string]*atomic.Uint64{}, map[string]bool{}
	before := p.routing.Load()
	if before != nil {
		for _, b := range before.backends {
			turns[b.Ingress.String()+b.Path] = b.turn
		}
	}
	next := &routing{table: NewTable(routes), backends: map[*Route]*backend{}, over: make(chan struct{})}
	next.table.each(func(route *Route) {
		name := route.Ingress.Scope + "/" + route.Ingress.Name
		b := &backend{Route: route, turn: turns[route.Ingress.String()+route.Path], series: p.metrics.of(name)}
		served[name] = true
		if b.turn == nil {
			b.turn = new(atomic.Uint64)
		}
		for _, served := range route.Pods {
			b.pods = append(b.pods, states[served])
		}
		next.backends[route] = b
	})
	p.routing.Store(next)
	if before != nil {
		close(before.over)
	}
	for _, gone := range left {
		gone.markRemoved()
	}
	p.metrics.keep(served)
}

// Drained waits until a pod, which should no longer be in the table, has no request in flight, or until ctx ends.
func (p *Proxy) Drained(ctx context.Context, name string) error {
	for _, known := range p.pods.named(name) {
		if err := known.drained(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, from := p.opts.Now(), p.originOf(r)
	seen := &watched{ResponseWriter: w}
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 && r.Header.Get("Upgrade") == "" {
		// A Content-Length beside chunks can smuggle a request, and net/http drops that header silently.
		seen.Header().Set("Connection", "close")
	}
	if status, why := refusal(r); status != 0 {
		problem(seen, status, why)
		p.recordExchange(r, seen, from, nil, began)
		return
	}
	b := p.await(r, from.secure)
	if b == nil {
		problem(seen, http.StatusNotFound, "no ingress serves "+hostname(r.Host)+" here")
		p.recordExchange(r, seen, from, nil, began)
		return
	}
	x := &exchange{Context: r.Context(), proxy: p, host: r.Host, path: r.URL.Path, backend: b, from: from}
	b.series.active.Inc()
	defer b.series.active.Dec()
	defer func() { p.recordExchange(r, seen, from, x, began) }() // also if the copying was aborted
	switch {
	case b.Secure && !from.secure:
		p.redirect(seen, r)
	case b.Mode == ModeMaintenance:
		seen.Header().Set("Retry-After", "60")
		problem(seen, http.StatusServiceUnavailable, cmp.Or(b.Message, "under maintenance"))
	case b.Mode == ModePaused:
		seen.Header().Set("Retry-After", "5")
		problem(seen, http.StatusServiceUnavailable, "paused")
	case len(b.pods) == 0:
		unready(seen, x)
	default:
		own := r.WithContext(x) // the server checks the body only of the request that it made
		x.sends(seen, own, r)
		defer x.body.end()
		defer x.close()
		p.reverse.ServeHTTP(seen, own)
	}
}
