package api

import "time"

// JoinToken lets machines join a cluster as nodes until it expires.
type JoinToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Address is where they connect: HOST:PORT.
	Address string `json:"address"`
	// EtcdEndpoints and EtcdPrefix are where the store of a server that joins is; empty if the servers have it themselves.
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`
	EtcdPrefix    string   `json:"etcdPrefix,omitempty"`
}
