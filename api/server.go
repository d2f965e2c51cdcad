package api

import "time"

// Server is one of the servers that hold a cluster's store and answer its API.
type Server struct {
	Name string `json:"name"`
	// Address is the HOST:PORT that agents connect to; empty if the server has no listener for them or is down.
	Address string `json:"address,omitempty"`
	// Store is the store's address for other servers; empty if the store is external, or this server is the only one.
	Store string `json:"store,omitempty"`
	// State is up, down, joining (its store catches up and has no vote yet) or added (it has not started yet);
	// unknown while the servers have no quorum.
	State ServerState `json:"state"`
	// Leads is set for the server whose controllers run.
	Leads bool `json:"leads,omitempty"`
	// Vote is voter, or learner for one that joins: it counts for no quorum. Empty if the store is an etcd of your own.
	Vote ServerVote `json:"vote,omitempty"`
	// Lag is the number of revisions that another server's store has and its own doesn't; absent if it doesn't answer.
	Lag     *int64    `json:"lag,omitempty"`
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// ServerState is a server's state as another server knows it.
type ServerState string

// The states of servers.
const (
	ServerUp      ServerState = "up"
	ServerDown    ServerState = "down"
	ServerJoining ServerState = "joining"
	ServerAdded   ServerState = "added"
	ServerUnknown ServerState = "unknown"
)

// ServerVote describes a server's vote in the quorum.
type ServerVote string

// The votes of servers.
const (
	VotesAsServer ServerVote = "voter"
	LearnsToVote  ServerVote = "learner"
)

// Servers is the list of a cluster's servers.
type Servers struct {
	Items []Server `json:"items"`
	// Quorum says why nothing can be written; empty if it can.
	Quorum string `json:"quorum,omitempty"`
}

// ServerPresence announces a server to the others, for as long as it runs.
type ServerPresence struct {
	Address string    `json:"address,omitempty"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	// Member is the id of its store among the members; empty if that is elsewhere. A server that joins under the name
	// of a former one is not taken for that.
	Member string `json:"member,omitempty"`
	// Ports are the TCP ports at which it and the agent in its process listen, as their flags say. Earlier versions don't
	// say them.
	Ports []int `json:"ports,omitempty"`
}
