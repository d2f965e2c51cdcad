package api

import "time"

// JoinTokenRequest describes a token: the machines that may join with it, and its lifetime.
type JoinTokenRequest struct {
	// Role is node, ingress (a node that serves ingresses) or server. Default node.
	Role string `json:"role,omitempty"`
	// Node is the only name to join under. Default: any that is free.
	Node string `json:"node,omitempty"`
	// Replace lets the machine take over that name of one that is away, whose certificate is refused from then on.
	Replace bool `json:"replace,omitempty"`
	// Uses is the number of machines that may join with it. Default 1.
	Uses int `json:"uses,omitempty"`
	// TTL is the time until it expires, as in 30m: 1s to 24h. Default 1h.
	TTL string `json:"ttl,omitempty"`
}

// What machines join as.
const (
	JoinAsNode    = "node"
	JoinAsIngress = "ingress"
	JoinAsServer  = "server"
)

// JoinTokenInfo describes a join token, without its secret.
type JoinTokenInfo struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Node    string `json:"node,omitempty"`
	Replace bool   `json:"replace,omitempty"`
	// Uses is the number of machines that may join with it, Used lists those that have.
	Uses      int       `json:"uses"`
	Used      []string  `json:"used,omitempty"`
	MadeBy    string    `json:"madeBy,omitempty"`
	MadeAt    time.Time `json:"madeAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Spent reports whether no further machine may join with the token at a time.
func (t JoinTokenInfo) Spent(now time.Time) bool {
	return len(t.Used) >= t.Uses || !now.Before(t.ExpiresAt)
}

// JoinToken lets machines join a cluster until it expires or is used.
type JoinToken struct {
	JoinTokenInfo
	// Token is the secret, which is shown once.
	Token string `json:"token"`
	// Address is the HOST:PORT that they connect to.
	Address string `json:"address"`
	// EtcdEndpoints and EtcdPrefix locate the external store for a server that joins; empty if the servers hold the
	// store.
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`
	EtcdPrefix    string   `json:"etcdPrefix,omitempty"`
}
