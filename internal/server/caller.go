package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/store/records"
)

// caller is the client of a request with its rights. The zero value is an anonymous client without rights.
type caller struct {
	grant access.Grant
	// fault is the reason why the caller's token is refused; nil if it is valid, or if there is no token.
	fault *api.Problem
}

func (c caller) known() bool { return c.grant.Role != "" }

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// visible returns the scopes that an answer is limited to. Nil means no limit.
func visible(ctx context.Context) []string {
	if grant := callerOf(ctx).grant; grant.Limited() {
		return grant.Scopes
	}
	return nil
}

// recognized adds the caller to each request. A request with an access token ends when the token does.
func (s *Server) recognized(on listenerKind, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := s.recognize(on, r)
		defer end()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (s *Server) recognize(on listenerKind, r *http.Request) (context.Context, func()) {
	ctx, nothing := r.Context(), func() {}
	if on == socketListener {
		return withCaller(ctx, caller{grant: access.Grant{Role: api.Admin}}), nothing
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") || token == "" {
		return ctx, nothing
	}
	if s.isOwnToken(token) {
		if !peerOfRequest(r).OnThisMachine() {
			return withCaller(ctx, caller{fault: errOwnTokenAway}), nothing
		}
		return withCaller(ctx, caller{grant: access.Grant{Role: api.Admin}}), nothing
	}
	held, fault := s.accessToken(token)
	if fault != nil {
		return withCaller(ctx, caller{fault: fault}), nothing
	}
	ctx, end := s.sessions.begin(ctx, held)
	if again, fault := s.accessToken(token); fault != nil || again.ID != held.ID {
		// it was revoked before the session began
		end()
		return withCaller(r.Context(), caller{fault: errTokenEnded}), nothing
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	ctx = withActor(ctx, held.Name+" (token from "+address+")")
	return withCaller(ctx, caller{grant: access.Grant{Name: held.Name, Role: held.Role, Scopes: held.Scopes}}), end
}

// accessToken returns the stored record of an access token, or the reason why the token is refused.
func (s *Server) accessToken(token string) (records.AccessToken, *api.Problem) {
	parts := strings.Split(token, ".")
	if len(parts) < 3 || len(parts) > 4 || parts[0] != api.AccessTokenPrefix || s.View == nil {
		return records.AccessToken{}, errWrongToken
	}
	snap := records.Snapshot{Reader: s.View.Snapshot()}
	if snap.Revision() == 0 {
		return records.AccessToken{}, errNoStoreYet
	}
	stored, hash := snap.AccessToken(parts[1]), sha256.Sum256([]byte(parts[2]))
	switch {
	case !stored.Exists() || subtle.ConstantTimeCompare(stored.Value.Hash, hash[:]) != 1:
		return records.AccessToken{}, errTokenUnknown
	case !time.Now().Before(stored.Value.ExpiresAt):
		return records.AccessToken{}, errTokenEnded
	}
	return *stored.Value, nil
}

// nextToken is the next step of a person whose access token is refused.
const nextToken = "ask an admin for a token: tend tokens add NAME"

// The refusals of tokens.
var (
	errWrongToken = &api.Problem{Status: http.StatusUnauthorized, Title: "Unauthorized",
		Detail: "the token is missing or wrong",
		Next:   "send Authorization: Bearer with the content of <root>/token, or with a token of `tend tokens add` (TEND_TOKEN for the CLI); or use the unix socket"}
	errWrongTokenAway = &api.Problem{Status: http.StatusUnauthorized, Title: "Unauthorized",
		Detail: errWrongToken.Detail, Next: "send Authorization: Bearer with a token (TEND_TOKEN for the CLI); " + nextToken}
	errTokenUnknown = &api.Problem{Status: http.StatusUnauthorized, Title: "Unauthorized",
		Detail: "the token is of another cluster, or was revoked", Next: nextToken}
	errTokenEnded = &api.Problem{Status: http.StatusUnauthorized, Title: "Unauthorized",
		Detail: "the token was revoked, or has expired", Next: nextToken}
	errNoStoreYet = &api.Problem{Status: http.StatusServiceUnavailable, Title: "Service Unavailable",
		Detail: "the server has not read its store yet", Next: "try again in a moment; /readyz says what it waits for"}
)
