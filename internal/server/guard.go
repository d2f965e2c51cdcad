package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"

	"tend.dev/tend/api"
)

// openPaths need no token.
var openPaths = map[string]bool{"/healthz": true, "/readyz": true, "/version": true, "/metrics": true}

// guard lets requests of an untrusted listener pass if they carry the token. The Host must be a loopback name, so that
// no web page reaches the server through a name of its own that resolves to this machine. A page's Origin must be the
// server's own.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !loopbackHost(r.Host):
			s.foreign(r, http.StatusMisdirectedRequest)
			writeProblem(w, problemOf(&api.Problem{Status: http.StatusMisdirectedRequest,
				Detail: "this server answers to loopback names only, not to " + clip(r.Host),
				Next:   "use http://127.0.0.1 or http://localhost with the server's port"}))
		case !sameOrigin(r):
			s.foreign(r, http.StatusForbidden)
			writeProblem(w, problemOf(foreignOrigin(r)))
		case !openPaths[r.URL.Path] && !s.hasToken(r):
			s.foreign(r, http.StatusUnauthorized)
			w.Header().Set("WWW-Authenticate", `Bearer realm="tend"`)
			writeProblem(w, problemOf(&api.Problem{Status: http.StatusUnauthorized,
				Detail: "the token is missing or wrong",
				Next:   "send Authorization: Bearer with the content of <root>/token (TEND_TOKEN for the CLI), or use the unix socket"}))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *Server) hasToken(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if s.Token == "" || !strings.EqualFold(scheme, "bearer") {
		return false
	}
	// Hashes have one length, so the comparison doesn't reveal the token's.
	want, have := sha256.Sum256([]byte(s.Token)), sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(want[:], have[:]) == 1
}

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

func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	parsed, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && parsed.Scheme == "http" && strings.EqualFold(parsed.Host, r.Host)
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

// actorOf returns who makes a request and from where, for the log and for frozen marks.
func actorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}
