package join

import (
	"context"
	"fmt"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/authority"
)

// serverPath is the path at which servers join.
const serverPath = "/server/v1/join"

// Server is a server that joins: its name, and the URL where the other servers reach its store; none if that is an
// external etcd.
type Server struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Node is the name of the node that it will run; empty without an agent.
	Node string `json:"node,omitempty"`
	// Echo is the machine's answer at URL while it asks, which shows that others reach it there. Empty if it answers
	// nothing.
	Echo string `json:"echo,omitempty"`
	// Keys is the hash of the keys that its root has; empty if it has none.
	Keys []byte `json:"keys,omitempty"`
	// Version is the Tend that it runs, Schema the layout of the store that this one reads and writes. Empty if it
	// doesn't say.
	Version string `json:"version,omitempty"`
	Schema  string `json:"schema,omitempty"`
}

// Admission holds what a server gets when it joins. All of it but the URLs and the uid is secret.
type Admission struct {
	// Keys is the file of the cluster's keys, Peers the authority of the certificates of servers with its key, in PEM.
	Keys  []byte `json:"keys"`
	Peers []byte `json:"peers"`
	// Members are the URLs of the servers' stores by the servers' names, the new one's included.
	Members map[string]string `json:"members"`
	// Cluster is the cluster's uid, if its store is an external etcd: then there are no Peers and Members.
	Cluster string `json:"cluster,omitempty"`
}

type serverRequest struct {
	Token string `json:"token"`
	Server
}

func (d Desk) joinServer(r *http.Request, asked serverRequest) (Admission, error) {
	secret, _, err := parse(asked.Token)
	if err == nil && !secret.Server {
		err = ErrRole
	}
	if err != nil {
		return Admission{}, &api.Problem{Title: tokenRefused, Status: http.StatusUnauthorized, Detail: err.Error(),
			Next: nextToken(true)}
	}
	if !membership.ValidName(asked.Name) {
		return Admission{}, &api.Problem{Title: "ServerName", Status: http.StatusBadRequest,
			Detail: fmt.Sprintf("%.80q can't be the name of a server: %s", asked.Name, membership.NameRule),
			Next:   "choose another with --name"}
	}
	if d.Admit == nil {
		return Admission{}, &api.Problem{Title: "NoPeers", Status: http.StatusConflict,
			Detail: "this server's store has no listener for other servers",
			Next:   "start that server again with --peer-listen HOST:PORT; containers keep running meanwhile"}
	}
	return d.Admit(r.Context(), Applicant{Secret: secret, Name: asked.Name, Version: asked.Version}, asked.Server)
}

// JoinServer asks a server to add another one to the cluster. It may be repeated. It returns a Problem if it is
// refused.
func JoinServer(ctx context.Context, dial Dial, server, token string, who Server) (Admission, error) {
	_, fingerprint, err := parse(token)
	if err != nil {
		return Admission{}, err
	}
	transport := &http.Transport{
		TLSClientConfig: authority.JoinTLS(fingerprint), ForceAttemptHTTP2: true, DialContext: dial,
	}
	defer transport.CloseIdleConnections()
	given, err := ask[Admission](ctx, &http.Client{Transport: transport}, server+serverPath, serverRequest{token, who})
	if err != nil {
		return given, fmt.Errorf("join the servers at %s: %w", server, err)
	}
	return given, nil
}
