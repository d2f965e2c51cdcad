package remote

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/platform/routemux"
)

// Prefix is the prefix of the protocol's paths.
const Prefix = "/node/v1/"

// HandlerOptions are the options of a Handler. Service and Node are required.
type HandlerOptions struct {
	Service *local.Service
	// Node returns the node that a request comes from, by the certificate of its connection; an error refuses the request.
	Node func(*http.Request) (string, error)
	// Callbacks returns what answers the containers of nodes. It asks admit about each call. Default: they can't call
	// back.
	Callbacks func(admit Admit) http.Handler
	// Paused returns why nothing may be changed at the moment: only nodes whose machine is held back are shown anything
	// meanwhile. Default: it is never paused.
	Paused func() string
	// Current returns an error if this server may not show all that was written up to a revision, for lack of a quorum; it
	// waits a moment for what it is behind. Default: a server alone always shows it.
	Current func(ctx context.Context, revision int64) error
	// Fresh returns an error if this server may not show all that any server has stored; it waits a moment for that. A
	// node that has just started asks for it: it would make again what was removed. Default: a server alone always
	// shows it.
	Fresh func(ctx context.Context) error
	// Servers returns the addresses of the servers that take nodes. Default: none but this one is known.
	Servers func() []string
	// Roots takes what a node says that it trusts, and returns the fingerprints of the authorities that it is to trust:
	// the first is the one that issues. Default: none is known.
	Roots func(ctx context.Context, node string, has Trust) []string
	// Tracer exports traces. Default: nothing does.
	Tracer *tracing.Tracer
	// Logger defaults to slog.Default().
	Logger *slog.Logger

	lockTime time.Duration // default maxLockTime
	bounds   *bounds       // a test's
}

// Handler is the server's half. Create it with NewHandler.
type Handler struct {
	HandlerOptions
	mux       *routemux.Mux
	callbacks http.Handler

	mu       sync.Mutex
	controls map[string]*local.Control // their leases outlive a connection

	spared sync.Map // by the id of a node, the pulse of its stream: answers put it off
}

// NewHandler returns a Handler.
func NewHandler(o HandlerOptions) *Handler {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Callbacks == nil {
		o.Callbacks = func(Admit) http.Handler { return http.NotFoundHandler() }
	}
	if o.Paused == nil {
		o.Paused = func() string { return "" }
	}
	if o.Current == nil {
		o.Current = func(context.Context, int64) error { return nil }
	}
	if o.Fresh == nil {
		o.Fresh = func(context.Context) error { return nil }
	}
	if o.Servers == nil {
		o.Servers = func() []string { return nil }
	}
	if o.Roots == nil {
		o.Roots = func(context.Context, string, Trust) []string { return nil }
	}
	if o.bounds == nil {
		o.bounds = newBounds()
	}
	h := &Handler{HandlerOptions: o, mux: routemux.New(), controls: map[string]*local.Control{}}
	h.callbacks = o.Callbacks(h.admit)
	for pattern, answer := range map[string]handler{
		"GET follow": h.follow, "GET state": h.state, "POST report": h.report, "POST alive": h.alive,
		"POST release": asked((*local.Control).Release), "GET registry": h.registry,
		"POST build-secrets": asked((*local.Control).BuildSecrets), "GET blobs/{digest}": h.blob, "GET release-images/{task}": h.releaseImage,
		"POST referred": asked((*local.Control).Referred),
		"POST ingress":  taken((*local.Control).ReportIngress),
		"POST network":  taken((*local.Control).ReportNetwork), "GET resolve": h.resolve,
		"POST certificates/{do}": h.certificates, "POST sign": h.sign, "POST locks/{name...}": h.lock,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		h.mux.HandleFunc(method+" "+Prefix+path, h.traced("node "+pattern, h.answer(pattern, answer)))
	}
	h.mux.HandleFunc(Prefix+callbackPath, h.answer(callbackPath, h.callback))
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Patterns implements routemux.Lister.
func (h *Handler) Patterns() []string { return h.mux.Patterns() }

// handler answers one request of a node.
type handler func(*local.Control, http.ResponseWriter, *http.Request) error

func (h *Handler) answer(pattern string, answer handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // no node reads it, and a new one each second fills the tables of headers
		id, err := h.Node(r)
		if err != nil {
			wire.Fail(w, notANode(err))
			return
		}
		if err := h.bounds.within(pattern, id, w, r,
			func(r *http.Request) error { return answer(h.control(id), w, r) }); err != nil {
			wire.Fail(w, wire.ProblemOf(err))
		}
	}
}

func notANode(err error) *api.Problem {
	return &api.Problem{Status: http.StatusUnauthorized, Title: "NotANode", Detail: err.Error()}
}

// control returns what a node may read and report.
func (h *Handler) control(id string) *local.Control {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.controls[id] == nil {
		h.controls[id] = h.Service.Node(id)
	}
	return h.controls[id]
}

// reported is the answer to a report: the revision that shows it, and what was refused of it.
type reported struct {
	Revision int64    `json:"revision,omitempty"`
	Refused  []string `json:"refused,omitempty"`
}

func (h *Handler) report(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var report node.Report
	if err := readUpTo(boundary.MaxReport, w, r, &report); err != nil {
		return err
	}
	revision, err := c.Write(r.Context(), report)
	var refused *node.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	answer := reported{Revision: revision}
	if refused != nil {
		answer.Refused = refused.Parts
	}
	return wire.Write(w, answer)
}

// asked returns the handler of a question with a body that ask answers.
func asked[In, Out any](ask func(*local.Control, context.Context, In) (Out, error)) handler {
	return func(c *local.Control, w http.ResponseWriter, r *http.Request) error {
		var in In
		if err := readBody(w, r, &in); err != nil {
			return err
		}
		out, err := ask(c, r.Context(), in)
		if err != nil {
			return err
		}
		return wire.Write(w, out)
	}
}

// taken returns the handler of a report that take stores.
func taken[In any](take func(*local.Control, context.Context, In) error) handler {
	return asked(func(c *local.Control, ctx context.Context, in In) (reported, error) {
		return reported{}, take(c, ctx, in)
	})
}

// registry is the answer about a registry.
type registry struct {
	Declared bool          `json:"declared"`
	Registry node.Registry `json:"registry,omitzero"`
}

func (h *Handler) registry(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	found, declared, err := c.Registry(r.Context(), r.URL.Query().Get("host"))
	if err != nil {
		return err
	}
	return wire.Write(w, registry{declared, found})
}

func (h *Handler) blob(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	content, err := c.Blob(r.Context(), r.PathValue("digest"))
	if err != nil {
		return err
	}
	defer content.Close()
	wire.Copy(w, content)
	return nil
}

func (h *Handler) releaseImage(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	has, err := wire.PartOf(r.URL.Query())
	if err != nil {
		return err
	}
	content, err := c.ReleaseImage(r.Context(), api.Task{ID: r.PathValue("task")}, has)
	if err != nil {
		return err
	}
	defer content.Close()
	wire.Copy(w, content)
	return nil
}
