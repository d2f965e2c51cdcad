package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/observe/tracing"
)

// maxRequestID bounds a client's id of a request.
const maxRequestID = 64

// identified gives each request an id, which is in its answer and in its log lines. A client may choose it.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(api.HeaderRequestID)
		if !validRequestID(id) {
			id = randomID()
		}
		w.Header().Set(api.HeaderRequestID, id)
		next.ServeHTTP(w, r.WithContext(tracing.WithRequest(r.Context(), id)))
	})
}

// validRequestID reports whether a client's id may be logged: up to 64 letters, digits, dots, dashes and underscores.
func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}) < 0
}

func randomID() string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

// identify adds the request's id to a problem of the server's own, so that a person can find it in the log.
func identify(ctx context.Context, problem *api.Problem) *api.Problem {
	if problem.Status >= http.StatusInternalServerError {
		problem.RequestID = tracing.Request(ctx)
	}
	if problem.Next == logSaysMore {
		problem.Next += ": look there for " + tracing.Request(ctx)
	}
	return problem
}

// traced makes a request a part of its sender's trace, or the beginning of a new one. Its span is exported if it has an
// effect.
func (s *Server) traced(r *http.Request, route string) (*http.Request, *tracing.Work) {
	if s.Tracer == nil || route == "" {
		return r, nil
	}
	ctx, work := s.Tracer.Work(r.Context(), tracing.Sender(r.Header), route,
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
		attribute.String("tend.request", tracing.Request(r.Context())))
	return r.WithContext(ctx), work
}

// serverError returns the error of a status that is the server's fault.
func serverError(status int) error {
	if status < http.StatusInternalServerError {
		return nil
	}
	return errors.New(http.StatusText(status))
}
