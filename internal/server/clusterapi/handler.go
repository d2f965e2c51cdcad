package clusterapi

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/platform/limit"
	"tend.dev/tend/internal/platform/routemux"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Options are the dependencies of a Handler. Store, View, Fresh and MAC are needed.
type Options struct {
	Store records.Committer
	View  *view.View
	// Leases end queries, Seal encrypts their answers, and Open decrypts them. Needed by Ask and for answers.
	Leases interface {
		Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error)
		Revoke(ctx context.Context, id store.LeaseID) error
	}
	Seal, Open func([]byte) ([]byte, error)
	// Fresh returns a snapshot at least as new as every commit made before the call.
	Fresh func(ctx context.Context) (records.Snapshot, error)
	// MAC is the servers' keyed hash, with which they make the credentials of clusters.
	MAC func(plain []byte) string
	// Paused returns the reason why changes are refused at the moment, or "". Default: changes are never refused.
	Paused func() string
	// Audit records a call that changes a cluster's credentials, Foreign one without a valid token. Default: nothing is
	// recorded.
	Audit, Foreign func(data api.AuditData)
	// Now is the clock. Default time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Handler answers operators. Create it with New.
type Handler struct {
	Options
	mux    *routemux.Mux
	limits *limits
	// registering limits the callers that have no credential yet.
	registering *limit.Places
	// waiting counts, per cluster, the requests that wait for jobs, asking the queries to its operator, and askers, per
	// token, the token's queries.
	waiting, asking, askers *waiting
	sent                    *sentQueries
}

// New returns a Handler.
func New(o Options) *Handler {
	if o.Paused == nil {
		o.Paused = func() string { return "" }
	}
	for _, record := range []*func(api.AuditData){&o.Audit, &o.Foreign} {
		if *record == nil {
			*record = func(api.AuditData) {}
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{Options: o, mux: routemux.New(), limits: newLimits(o.Now),
		registering: limit.NewPlaces(boundary.Joins, boundary.JoinWait), waiting: newWaiting(maxWaiting),
		asking: newWaiting(maxQueries), askers: newWaiting(maxTokenQueries), sent: &sentQueries{at: map[string]time.Time{}}}
	h.mux.HandleFunc("POST "+pull.RegisterPath, h.answer(h.register))
	h.mux.HandleFunc("GET "+pull.JobsPath, h.answer(h.known(h.jobs)))
	h.mux.HandleFunc("GET "+pull.DeliveredPath, h.answer(h.known(h.delivered)))
	h.mux.HandleFunc("POST "+pull.JobsPath+"/{id}/ack", h.answer(h.known(h.acknowledge)))
	h.mux.HandleFunc("POST "+pull.JobsPath+"/{id}/status", h.answer(h.known(h.status)))
	h.mux.HandleFunc("POST "+pull.JobsPath+"/{id}/result", h.answer(h.known(h.result)))
	h.mux.HandleFunc("POST "+pull.QueriesPath+"/{id}/answer", h.answer(h.known(h.answerQuery)))
	h.mux.HandleFunc("POST "+pull.EventsPath, h.answer(h.known(h.events)))
	h.mux.HandleFunc("POST "+pull.RotatePath, h.answer(h.known(h.rotate)))
	h.mux.HandleFunc(pull.Prefix, h.answer(func(*http.Request) (any, error) {
		return nil, &failure{http.StatusNotFound, "NotFound", "this path is not part of the protocol", 0}
	}))
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Patterns implements routemux.Lister.
func (h *Handler) Patterns() []string { return h.mux.Patterns() }

// answer writes the result of a function: a value, nothing (204), or an error.
func (h *Handler) answer(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began, asked, id := h.Now(), &caller{}, rand.Text()
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, asked))
		w.Header().Set("X-Request-Id", id)
		r.Body = http.MaxBytesReader(w, r.Body, pull.MaxBody)
		if r.URL.Path == pull.RegisterPath { // open to anyone
			r.Body = http.MaxBytesReader(w, r.Body, boundary.MaxJoin)
			// it fails where there is no connection
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(boundary.JoinTime))
		}
		value, err := h.checked(r, handle)
		status := http.StatusOK
		switch {
		case r.Context().Err() != nil:
			return // the client has left
		case err != nil:
			status = h.fail(w, r, err)
		case value == nil:
			status = http.StatusNoContent
			w.WriteHeader(status)
		default:
			write(w, status, value)
		}
		h.audit(r, asked, status, began)
	}
}

// checked calls handle, unless the request must be refused whatever it requests.
func (h *Handler) checked(r *http.Request, handle func(*http.Request) (any, error)) (any, error) {
	if why := h.Paused(); why != "" {
		return nil, &failure{http.StatusServiceUnavailable, "Paused", why, time.Minute}
	}
	if kind := r.Header.Get("Content-Type"); r.ContentLength != 0 && r.Method == http.MethodPost && !accepts(kind) {
		return nil, &failure{http.StatusUnsupportedMediaType, "UnsupportedMediaType",
			"send Content-Type: " + pull.MediaType, 0}
	}
	return handle(r)
}

func accepts(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.TrimSpace(kind)
	return strings.EqualFold(kind, pull.MediaType) || strings.EqualFold(kind, "application/json")
}

// audit records calls about credentials, and calls refused for theirs.
func (h *Handler) audit(r *http.Request, asked *caller, status int, began time.Time) {
	data := api.AuditData{
		Method: r.Method, Path: r.URL.Path[:min(len(r.URL.Path), 256)], Actor: addressOf(r), Status: status,
		TookMilliseconds: h.Now().Sub(began).Milliseconds(),
	}
	switch {
	case status == http.StatusUnauthorized:
		h.Foreign(data)
	case r.URL.Path == pull.RegisterPath || r.URL.Path == pull.RotatePath:
		if asked.cluster != "" {
			data.Kind, data.Scope, data.Name = api.KindCluster, api.Unscoped, asked.cluster
		}
		h.Audit(data)
	}
}

// seconds returns a duration for a Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(max(int(d/time.Second), 1)) }
