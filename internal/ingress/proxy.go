package ingress

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/ingress/wire"
)

// DefaultHold is how long a request waits for a pod where none is ready, or while its route is paused.
const DefaultHold = 10 * time.Second

// DefaultAnswer is how long a pod may take to begin its answer.
const DefaultAnswer = 10 * time.Minute

// How many requests wait at once, of one ingress and of all; the others are answered at once.
const (
	maxHeldEach = 1024
	maxHeld     = 4096
)

// statusLeft is what is told of a request whose client left before the answer; nobody reads it.
const statusLeft = 499

// Options make a Proxy.
type Options struct {
	// Hold is how long a request waits for a pod where none is ready, or while its route is paused. Default DefaultHold;
	// negative waits not at all.
	Hold time.Duration
	// Answer is how long a pod may take to begin its answer to a request that it has; not for gRPC, whose clients say so
	// themselves. Default DefaultAnswer.
	Answer time.Duration
	// SecurePort is where plain requests of routes with TLS are sent. Default 443.
	SecurePort int
	// Registry gets the proxy's metrics; nil keeps them to itself.
	Registry prometheus.Registerer
	// Access gets a line for each request; nil writes none.
	Access *slog.Logger
	Logger *slog.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Proxy serves requests by the newest table. Safe for concurrent use.
type Proxy struct {
	opts     Options
	updating sync.Mutex // one table at a time
	picture  atomic.Pointer[picture]
	pods     pods
	tell     *metrics
	nobody   *series // requests of hosts that no ingress has
	held     atomic.Int64
	body     time.Duration // bodyTime; shorter in tests
	bodyRate int           // bodyRate; higher in tests
	reverse  *httputil.ReverseProxy
}

// picture is one table with its pods' states.
type picture struct {
	table    *Table
	backends map[*Route]*backend
	// over is closed when the next picture is in force.
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
	if opts.Hold == 0 {
		opts.Hold = DefaultHold
	}
	if opts.Answer == 0 {
		opts.Answer = DefaultAnswer
	}
	if opts.SecurePort == 0 {
		opts.SecurePort = 443
	}
	p := &Proxy{opts: opts, body: bodyTime, bodyRate: bodyRate, tell: newMetrics(opts.Registry)}
	p.nobody = p.tell.of("")
	p.reverse = &httputil.ReverseProxy{
		Rewrite:      rewrite,
		Transport:    newSpread(opts.Now, min(retryFor, max(opts.Hold, 0)), opts.Answer),
		ErrorHandler: p.fail,
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // what it says is in the access log
		BufferPool:   &buffers{},
	}
	p.Update(nil)
	return p
}

// Update replaces the table. Requests under way end where they are.
func (p *Proxy) Update(routes []Route) {
	p.updating.Lock()
	defer p.updating.Unlock()
	states, left := p.pods.update(routes)
	turns, served := map[string]*atomic.Uint64{}, map[string]bool{}
	before := p.picture.Load()
	if before != nil {
		for _, b := range before.backends {
			turns[b.Ingress.String()+b.Path] = b.turn
		}
	}
	next := &picture{table: NewTable(routes), backends: map[*Route]*backend{}, over: make(chan struct{})}
	next.table.each(func(route *Route) {
		name := route.Ingress.Scope + "/" + route.Ingress.Name
		b := &backend{Route: route, turn: turns[route.Ingress.String()+route.Path], tell: p.tell.of(name)}
		served[name] = true
		if b.turn == nil {
			b.turn = new(atomic.Uint64)
		}
		for _, served := range route.Pods {
			b.pods = append(b.pods, states[served])
		}
		next.backends[route] = b
	})
	p.picture.Store(next)
	if before != nil {
		close(before.over)
	}
	for _, gone := range left {
		gone.leave()
	}
	p.tell.keep(served)
}

// Drained waits until a pod, which should be in the table no more, works on no request; or until ctx ends.
func (p *Proxy) Drained(ctx context.Context, name string) error {
	for _, known := range p.pods.named(name) {
		if err := known.drained(ctx); err != nil {
			return err
		}
	}
	return nil
}

// exchange is one request on its way.
type exchange struct {
	proxy      *Proxy
	host, path string // as the client asked
	backend    *backend
	client     string // its address
	pod        *pod   // who answered
	answer     io.Closer
	body       *sent // nil where the client sends none
	failure    error
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

// close ends the pod's answer, for the pod to be free of the request. The reverse proxy doesn't where it can't pass it on.
func (x *exchange) close() {
	if x.answer != nil {
		_ = x.answer.Close()
	}
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := p.opts.Now()
	seen := &watched{ResponseWriter: w}
	if r.Method == http.MethodConnect {
		problem(seen, http.StatusMethodNotAllowed, "this is no forward proxy")
		p.told(r, seen, nil, began)
		return
	}
	if wire.Dotted(r.URL.Path) { // a pod that resolves it would serve what the route of another path is to
		problem(seen, http.StatusBadRequest, "the path has segments of dots: resolve them before asking")
		p.told(r, seen, nil, began)
		return
	}
	b := p.await(r)
	if b == nil {
		problem(seen, http.StatusNotFound, "no ingress serves "+hostname(r.Host)+" here")
		p.told(r, seen, nil, began)
		return
	}
	x := &exchange{proxy: p, host: r.Host, path: r.URL.Path, backend: b, client: clientAddress(r)}
	b.tell.active.Inc()
	defer b.tell.active.Dec()
	defer func() { p.told(r, seen, x, began) }() // also where the copying was aborted
	switch {
	case b.Secure && r.TLS == nil:
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
		own := r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)) // the server looks at its own one's body
		x.sends(seen, own, r)
		defer x.body.end()
		defer x.close()
		p.reverse.ServeHTTP(seen, own)
	}
}

// rewrite is what the pod gets instead of the request: the same, with the addresses it came by.
func rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	for name := range r.Out.Header {
		if wire.Claims(name) {
			delete(r.Out.Header, name)
		}
	}
	if strings.Contains(strings.ToLower(r.Out.Header.Get("Upgrade")), "h2c") {
		r.Out.Header.Del("Upgrade") // requests of that connection would pass by all routes, with whatever they say of their client
		r.Out.Header.Del("Connection")
	}
	r.Out.Header.Del("Http2-Settings")
	r.SetXForwarded()
	r.Out.Host = r.In.Host
	r.Out.URL.Scheme, r.Out.URL.Host = "http", x.backend.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery // httputil leaves out what not every reader parts in the same way; it is the pod's to read
	r.Out.Header.Set("X-Real-IP", x.client)
	if prefix := x.backend.Path; x.backend.Strip && prefix != "/" {
		strip(r.Out, prefix)
		r.Out.Header.Set("X-Forwarded-Prefix", prefix)
	}
}

// strip takes a prefix off a request's path, and off its escaped form where that differs.
func strip(r *http.Request, prefix string) {
	rooted := func(path string) string {
		if path = strings.TrimPrefix(path, prefix); path == "" || path[0] != '/' {
			path = "/" + path
		}
		return path
	}
	r.URL.Path = rooted(r.URL.Path)
	if r.URL.RawPath != "" {
		r.URL.RawPath = rooted(r.URL.RawPath)
	}
}

func clientAddress(r *http.Request) string {
	return addressOf(r.RemoteAddr)
}

// addressOf is an address without its port.
func addressOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
