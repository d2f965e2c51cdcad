package server

import (
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/observe/tracing"
)

// requestTime bounds reading a request and writing its answer; streams extend it as they proceed.
const requestTime = time.Minute

// drainBytes is the number of bytes of a refused body that are still read.
const drainBytes = 16 << 20

// Handler returns the handler for the requests of a listener on this machine.
func (s *Server) Handler(trusted bool) http.Handler {
	if trusted {
		return s.handler(socketListener)
	}
	return s.handler(loopbackListener)
}

func (s *Server) handler(on listenerKind) http.Handler {
	handler := s.audited(http.HandlerFunc(s.dispatch))
	if on != socketListener {
		handler = s.guard(on, handler)
	}
	return identified(s.recovered(s.recognized(on, s.timed(handler))))
}

// dispatch passes a request to its route. It turns the mux's own refusals into problems.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	handler, pattern := s.mux.Handler(r)
	if pattern != "" {
		s.freshen(w, r)
		r, err := s.withinCall(r)
		if err == nil {
			r, err = withIdempotencyKey(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.mux.ServeHTTP(w, r)
		return
	}
	refusal := &refusal{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(refusal, r)
	problem := &api.Problem{Status: refusal.status, Detail: r.Method + " " + clip(r.URL.Path) + " is not part of this API",
		Next: "/openapi.json lists what is"}
	if allow := refusal.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		problem.Next = "use " + allow
	}
	writeProblem(w, problemOf(problem))
}

// withIdempotencyKey adds the key under which a request may be repeated to its context.
func withIdempotencyKey(r *http.Request) (*http.Request, error) {
	key := r.Header.Get(api.IdempotencyKey)
	if key == "" {
		return r, nil
	}
	ctx, err := verbs.WithIdempotencyKey(r.Context(), key)
	return r.WithContext(ctx), err
}

// refusal keeps the status of the mux's answer and drops its text.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) WriteHeader(status int)      { r.status = status }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }

// timed sets the deadlines and counts requests.
func (s *Server) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(began.Add(requestTime))
		_ = control.SetWriteDeadline(began.Add(requestTime))
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		_, route := s.mux.Handler(r)
		r, work := s.traced(r, route)
		// A client that is refused half-way through its body would see a broken pipe instead of the reason. So the rest is
		// read, and handlers can't close it before.
		body := r.Body
		r.Body = received{body, r.Context()}
		closeAfterChunks(w, r)
		s.markPaused(w)
		next.ServeHTTP(answer, r)
		_, _ = io.CopyN(io.Discard, body, drainBytes)
		work.End(serverError(answer.status))
		s.metrics.observe(route, answer.status, time.Since(began))
		s.logRequest(r, r.URL.Path, actorOf(r.Context()), answer.status, began)
	})
}

// markPaused marks an answer with the reason for the cluster's pause, if it is paused.
func (s *Server) markPaused(w http.ResponseWriter) {
	w.Header().Del(api.HeaderPaused)
	if why := s.Paused(); why != "" {
		w.Header().Set(api.HeaderPaused, why)
	}
}

// logRequest logs an answered request, at debug level. It logs a stream when it ends. It leaves out the query, which
// may hold private data.
func (s *Server) logRequest(r *http.Request, path, actor string, status int, began time.Time) {
	s.Logger.DebugContext(r.Context(), "request", "method", r.Method, "path", path, "status", status,
		"took", time.Since(began).Round(time.Microsecond), "actor", actor)
}

// answer records the status.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController access to the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// recovered turns a panic into a problem with an id that is also in the log.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				panic(cause)
			}
			id := tracing.Request(r.Context())
			s.Logger.ErrorContext(r.Context(), "request panicked", "method", r.Method, "path", r.URL.Path, "panic", cause,
				"stack", string(debug.Stack()))
			s.metrics.panics.Inc()
			writeProblem(w, identify(r.Context(), problemOf(&api.Problem{Status: http.StatusInternalServerError,
				Detail: "the server made a mistake", Next: "look for " + id + " in the server's log, and report it"})))
		}()
		next.ServeHTTP(w, r)
	})
}
