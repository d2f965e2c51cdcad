package join

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/routemux"
)

// The paths at which a Desk answers.
const (
	joinPath  = "/node/v1/join"
	renewPath = "/node/v1/renew"
)

// Desk is the server's half. Authority, Cluster, Enter and Member are required.
type Desk struct {
	Authority *authority.Authority
	// Cluster is the store's uid.
	Cluster string
	// Enter decides whether a machine may join, and records that it is the one of its name from now on: see Decide.
	Enter func(ctx context.Context, a Applicant) (authority.Machine, error)
	// Member returns the machine of a connection if it is still the one of its name.
	Member func(state tls.ConnectionState) (authority.Machine, error)
	// Joined is called when a join of a machine, or of a server, is answered: with its name, and the problem of a refusal.
	// Default: no call.
	Joined func(r *http.Request, name string, server bool, refused *api.Problem)
	// Admit decides whether a server may join, records that its token is used (see Decide), and adds it to the store's.
	// Default: none can join.
	Admit func(ctx context.Context, a Applicant, who Server) (Admission, error)
}

// request is the request of a machine: its certificate request in DER, and to join also its token, its name, and the
// Tend that it runs.
type request struct {
	Token   string `json:"token,omitempty"`
	Node    string `json:"node,omitempty"`
	Version string `json:"version,omitempty"`
	Request []byte `json:"request"`
}

// answer is the answer to it: its certificate and the authorities that it is to trust, in PEM, and to join also the
// cluster.
type answer struct {
	Cluster     string `json:"cluster,omitempty"`
	Authority   []byte `json:"authority,omitempty"`
	Certificate []byte `json:"certificate"`
}

// Register adds the desk's paths to a mux.
func (d Desk) Register(mux *routemux.Mux) {
	q := newQueue()
	mux.HandleFunc("POST "+joinPath, answering(q, func(r *http.Request, asked request) (answer, error) {
		given, err := d.join(r, asked)
		d.joined(r, asked.Node, false, err)
		return given, err
	}))
	mux.HandleFunc("POST "+renewPath, answering(q, d.renew))
	mux.HandleFunc("POST "+serverPath, answering(q, func(r *http.Request, asked serverRequest) (Admission, error) {
		given, err := d.joinServer(r, asked)
		d.joined(r, asked.Name, true, err)
		return given, err
	}))
}

// Guard refuses requests on connections that are older than the authority: they came with a certificate of a former
// one.
func (d Desk) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.Authority.Takes(r.TLS) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		who := "this machine"
		if m, err := authority.MachineOn(*r.TLS); err == nil {
			who = "node " + m.Node
		}
		wire.Fail(w, &api.Problem{Status: http.StatusUnauthorized, Title: "FormerAuthority",
			Detail: "the certificate of " + who + " is from before the cluster's authority was replaced",
			Next:   "restart tend agent there; if that doesn't help: tend nodes add on a server, and join again"})
	})
}

func (d Desk) joined(r *http.Request, name string, server bool, err error) {
	var refused *api.Problem
	if err != nil {
		refused = wire.ProblemOf(err)
	}
	if d.Joined != nil {
		d.Joined(r, name, server, refused)
	}
}

func (d Desk) join(r *http.Request, asked request) (answer, error) {
	secret, _, err := parse(asked.Token)
	if err != nil {
		return answer{}, &api.Problem{Title: tokenRefused, Status: http.StatusUnauthorized, Detail: err.Error(),
			Next: nextToken(false)}
	}
	if secret.Server {
		return answer{}, &api.Problem{Title: tokenRefused, Status: http.StatusUnauthorized, Detail: ErrRole.Error(),
			Next: nextToken(false)}
	}
	if !membership.ValidName(asked.Node) {
		return answer{}, &api.Problem{Title: "NodeName", Status: http.StatusBadRequest,
			Detail: fmt.Sprintf("%.80q can't be the name of a node: %s", asked.Node, membership.NameRule),
			Next:   "choose another with --node"}
	}
	key, err := authority.KeyOf(asked.Request)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", wire.ErrBadRequest, err)
	}
	machine, err := d.Enter(r.Context(), Applicant{Secret: secret, Name: asked.Node, Key: key, Version: asked.Version})
	if err != nil {
		return answer{}, err
	}
	certificate, err := d.Authority.Node(machine, asked.Request)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", wire.ErrBadRequest, err)
	}
	return answer{Cluster: d.Cluster, Authority: d.Authority.PEM(), Certificate: certificate}, nil
}

// renew gives a node another certificate of its own.
func (d Desk) renew(r *http.Request, asked request) (answer, error) {
	var state tls.ConnectionState
	if r.TLS != nil {
		state = *r.TLS
	}
	machine, err := d.Member(state)
	if err != nil {
		return answer{}, &api.Problem{Title: "NotANode", Status: http.StatusUnauthorized, Detail: err.Error()}
	}
	certificate, err := d.Authority.Node(machine, asked.Request)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", wire.ErrBadRequest, err)
	}
	return answer{Authority: d.Authority.PEM(), Certificate: certificate}, nil
}
