package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/access"
)

// errOwnTokenAway refuses the server's own token from where it doesn't count.
var errOwnTokenAway = &api.Problem{Status: http.StatusUnauthorized, Title: "Unauthorized",
	Detail: "the token in <root>/token counts on the server's machine alone, over its loopback or its unix socket",
	Next:   "make a token for the person or the program: tend tokens add NAME --role ROLE; on the machine itself use the socket"}

// isOwnToken reports whether a token is the server's own, of an admin.
func (s *Server) isOwnToken(token string) bool {
	// Hashes have one length, so the comparison doesn't reveal the token's.
	want, have := sha256.Sum256([]byte(s.Token)), sha256.Sum256([]byte(token))
	return s.Token != "" && subtle.ConstantTimeCompare(want[:], have[:]) == 1
}

// forwardedHeaders are those with which proxies say that a request is of another client.
var forwardedHeaders = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

// peerOfRequest returns who sent a request.
func peerOfRequest(r *http.Request) access.Peer {
	peer := access.Peer{Forwarded: slices.ContainsFunc(forwardedHeaders, func(name string) bool {
		return len(r.Header.Values(name)) > 0
	})}
	if address, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		peer.Address = address.Addr()
	}
	return peer
}

// ownTokenAway records that the server's own token came from where it doesn't count: it may be a thief's, so reads are
// recorded too, apart from calls without a token.
func (s *Server) ownTokenAway(r *http.Request) {
	s.Logger.Warn("refused the token in <root>/token: it counts on this machine alone", "from", r.RemoteAddr)
	if s.Auditor != nil {
		s.Auditor.RecordBounded(s.auditOf(r, &auditAnswer{status: http.StatusUnauthorized}, actorOf(r.Context()), time.Now()))
	}
}
