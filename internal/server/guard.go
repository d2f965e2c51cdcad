package server

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/platform/delay"
)

// listenerKind is the way in which a listener identifies its clients.
type listenerKind int

const (
	// socketListener: only clients with the permissions of the unix socket connect.
	socketListener listenerKind = iota
	// loopbackListener: only this machine connects, with a token.
	loopbackListener
	// remoteListener: other machines connect, over TLS and with a token.
	remoteListener
)

// openPaths need no token, except that /metrics needs one on the remote listener.
var openPaths = map[string]bool{"/healthz": true, "/readyz": true, "/version": true, "/metrics": true}

// isOpen reports whether a path needs no token.
func (on listenerKind) isOpen(path string) bool {
	return openPaths[path] && (on == loopbackListener || path != "/metrics")
}

// guard passes on requests of an untrusted listener if they carry a token. On loopback the Host must be a loopback
// name, so that no web page reaches the server through a name of its own that resolves to this machine. A page's Origin
// must be the server's own.
func (s *Server) guard(on listenerKind, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := callerOf(r.Context())
		switch {
		case on == loopbackListener && !loopbackHost(r.Host):
			s.refuseAddressed(w, r, &api.Problem{Status: http.StatusMisdirectedRequest,
				Detail: "this server answers to loopback names only, not to " + clip(r.Host),
				Next:   "use http://127.0.0.1 or http://localhost with the server's port"})
		case !sameOrigin(r):
			s.refuseAddressed(w, r, foreignOrigin(r))
		case on.isOpen(r.URL.Path):
			next.ServeHTTP(w, r.WithContext(withCaller(r.Context(), caller{grant: access.Grant{Role: api.Viewer}})))
		case !who.known():
			s.refuseToken(on, w, r, who.fault)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuseAddressed answers a request that a page of another server may have sent. With a valid token it is in the audit
// as any refused call of its holder.
func (s *Server) refuseAddressed(w http.ResponseWriter, r *http.Request, problem *api.Problem) {
	answer := &auditAnswer{ResponseWriter: w, status: problem.Status}
	writeProblem(answer, problemOf(problem))
	switch {
	case !callerOf(r.Context()).known():
		s.foreign(r, problem.Status)
	case s.Auditor != nil && isAudited(r):
		s.Auditor.Record(s.auditOf(r, answer, actorOf(r.Context()), time.Now()))
	}
}

// refuseToken answers a request without a valid token. Other machines get the answer late, so that nobody can try many
// tokens.
func (s *Server) refuseToken(on listenerKind, w http.ResponseWriter, r *http.Request, fault *api.Problem) {
	fault = cmp.Or(fault, errWrongToken)
	if fault == errOwnTokenAway {
		s.ownTokenAway(r)
	} else {
		s.foreign(r, fault.Status)
	}
	if fault == errWrongToken && on == remoteListener {
		fault = errWrongTokenAway
	}
	if on == remoteListener {
		_ = delay.For(r.Context(), wrongTokenTime)
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="tend"`)
	writeProblem(w, problemOf(fault))
}

// loopbackHost reports whether a Host header names this machine by a loopback name or address.
func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// sameOrigin reports whether a request comes from no web page, or from one of this server.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	parsed, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && parsed.Scheme == scheme && strings.EqualFold(parsed.Host, r.Host)
}

func foreignOrigin(r *http.Request) *api.Problem {
	return &api.Problem{Status: http.StatusForbidden,
		Detail: "requests from the origin " + clip(r.Header.Get("Origin")) + " are not answered",
		Next:   "call the API from the command line or from the server's own pages"}
}

// clip shortens text from a client, so that it can't fill logs and answers.
func clip(text string) string {
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return `"` + strings.ToValidUTF8(text, "?") + `"`
}

type actorKey struct{}

func withActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// actorOf returns the user or program that makes a request, and its address, for the log and for frozen marks.
func actorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}
