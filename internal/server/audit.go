package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/observe/tracing"
)

// Auditor records the calls that may change something.
type Auditor interface {
	Record(data api.AuditData)
	// RecordBounded records a call of a caller that must not fill the log: a container.
	RecordBounded(data api.AuditData)
	// RecordForeign counts a call without a token.
	RecordForeign(data api.AuditData)
}

// The bounds of a call's record.
const (
	maxAuditPath  = 256
	maxAuditActor = 128
	// maxAuditReason is the length that package verbs accepts.
	maxAuditReason = 256
)

// isAudited reports whether a request may change something, or begins a command in a pod.
func isAudited(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return strings.HasPrefix(r.URL.Path, "/v1/pods/") && strings.HasSuffix(r.URL.Path, "/exec")
	}
	return r.URL.Path != "/v1/await" // it only reads
}

// audited records the calls that next answers, also those that it refuses or that panic.
func (s *Server) audited(next http.Handler) http.Handler {
	if s.Auditor == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAudited(r) {
			next.ServeHTTP(w, r)
			return
		}
		began, named := time.Now(), &auditNames{}
		answer := &auditAnswer{ResponseWriter: w, status: http.StatusInternalServerError}
		defer func() {
			data := s.auditOf(r, answer, actorOf(r.Context()), began)
			named.add(&data)
			s.Auditor.Record(data)
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), auditKey{}, named)))
		answer.finish()
	})
}

// foreign records a call that was refused because its caller is unknown.
func (s *Server) foreign(r *http.Request, status int) {
	if s.Auditor != nil && isAudited(r) {
		s.Auditor.RecordForeign(s.auditOf(r, &auditAnswer{status: status},
			strings.TrimPrefix(actorOf(r.Context()), "token from "), time.Now()))
	}
}

func (s *Server) auditOf(r *http.Request, answer *auditAnswer, actor string, began time.Time) api.AuditData {
	query := r.URL.Query()
	named := namedBy(r.URL.Path, query)
	short := func(text string) string { return text[:min(len(text), maxAuditActor)] }
	data := api.AuditData{
		Method: short(r.Method), Path: r.URL.Path[:min(len(r.URL.Path), maxAuditPath)], Actor: short(actor),
		Status: answer.status, Problem: answer.problem(),
		TookMilliseconds: time.Since(began).Milliseconds(), Request: tracing.Request(r.Context()),
		Kind: api.Kind(short(string(named.Kind))), Scope: short(named.Scope), Name: short(named.Name),
		Pod: short(podOfPath(r.URL.Path)), Reason: query.Get("reason")[:min(len(query.Get("reason")), maxAuditReason)],
	}
	data.DryRun = query.Has("dry_run") && query.Get("dry_run") != "0" && query.Get("dry_run") != "false"
	return data
}

// auditCallback records a call of a plugin or a container, whose path has no token.
func (s *Server) auditCallback(r *http.Request, path string, g grant, known bool, status int, began time.Time) {
	if s.Auditor == nil || !isAudited(r) {
		return
	}
	named := r.Clone(r.Context())
	named.URL.Path = "/callback" + path
	record := s.Auditor.Record
	switch {
	case !known:
		named.URL.Path, record = "/callback", s.Auditor.RecordForeign
	case g.name != "":
		record = s.Auditor.RecordBounded
	}
	record(s.auditOf(named, &auditAnswer{status: status}, g.actor, began))
}

// auditAnswer records the status of an answer, and the beginning of a problem.
type auditAnswer struct {
	http.ResponseWriter
	status int
	wrote  bool
	head   []byte
}

// maxProblemHead is the number of bytes at the beginning of a problem that are searched for its title.
const maxProblemHead = 1 << 10

func (a *auditAnswer) WriteHeader(status int) {
	if !a.wrote || a.status < http.StatusOK {
		a.status, a.wrote = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *auditAnswer) Write(b []byte) (int, error) {
	if !a.wrote {
		a.status, a.wrote = http.StatusOK, true
	}
	if a.status >= http.StatusBadRequest && len(a.head) < maxProblemHead {
		a.head = append(a.head, b[:min(len(b), maxProblemHead-len(a.head))]...)
	}
	return a.ResponseWriter.Write(b)
}

// finish records that the handler has returned: an answer without a status is a 200.
func (a *auditAnswer) finish() {
	if !a.wrote {
		a.status = http.StatusOK
	}
}

// Unwrap gives http.ResponseController access to the connection.
func (a *auditAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

var problemTitle = pattern.Lazy(`"title": ?"([^"\\]{1,60})"`)

func (a *auditAnswer) problem() string {
	if found := problemTitle().FindSubmatch(a.head); found != nil {
		return string(found[1])
	}
	return ""
}
