package remote

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/nodeapi/wire"
)

// Trust holds the fingerprints of the cluster's authorities that a node has. The zero value means unknown.
type Trust struct {
	// Roots are the authorities by which it verifies servers.
	Roots []string
	// Issuer is the issuer of its own certificate.
	Issuer string
}

// The parameters of a question for the state.
const (
	rootsParameter  = "roots"
	issuerParameter = "issuer"
)

// mostRoots is the number of authorities that a node may name: two while one is rotated.
const mostRoots = 4

// fingerprint is SHA-256 in hex.
var fingerprint = pattern.Lazy(`^[0-9a-f]{64}$`)

func (t Trust) query() string {
	if len(t.Roots) == 0 {
		return ""
	}
	return url.Values{rootsParameter: {strings.Join(t.Roots, ",")}, issuerParameter: {t.Issuer}}.Encode()
}

func trustIn(query url.Values) (has Trust, err error) {
	text := query.Get(rootsParameter)
	if text == "" {
		return has, nil // an agent that doesn't know the parameter yet
	}
	has = Trust{Roots: strings.Split(text, ","), Issuer: query.Get(issuerParameter)}
	for _, each := range append([]string{has.Issuer}, has.Roots...) {
		if !fingerprint().MatchString(each) || len(has.Roots) > mostRoots {
			return Trust{}, fmt.Errorf("%w: the authorities that the node trusts can't be read", wire.ErrBadRequest)
		}
	}
	return has, nil
}

// state holds what a node checks before it answers the server's requests.
type state struct {
	// Paused is the reason of the server's pause; empty if it isn't paused.
	Paused string `json:"paused,omitempty"`
	// Behind is the reason why the server may not know that a pause has begun, or is over; empty if it does.
	Behind string `json:"behind,omitempty"`
	// Servers are the addresses of the servers that take nodes.
	Servers []string `json:"servers,omitempty"`
	// Roots are the fingerprints of the cluster's authorities. The first is the one that issues.
	Roots []string `json:"roots,omitempty"`
}

func (h *Handler) state(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	has, err := trustIn(r.URL.Query())
	if err != nil {
		return err
	}
	now := state{Servers: h.Servers(), Roots: h.Roots(r.Context(), c.ID(), has)}
	if now.Paused, err = h.pauseFor(r); err != nil {
		now.Behind = err.Error()
	}
	return wire.Write(w, now)
}
