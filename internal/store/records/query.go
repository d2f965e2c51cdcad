package records

import (
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/store"
)

// ClusterQuery is a query to the operator of a cluster, with its answer. Both end with the lease, also if the servers
// die.
type ClusterQuery struct {
	// Query has no signature: a server signs it when it sends it.
	Query pull.Query    `json:"query"`
	Lease store.LeaseID `json:"lease"`
	// Answer is a pull.Answer, encrypted; nil until there is one.
	Answer []byte `json:"answer,omitempty"`
}

// ClusterQuery reads a query to the operator of a cluster.
func (s Snapshot) ClusterQuery(cluster, id string) Read[ClusterQuery] {
	return get[ClusterQuery](s, ClusterQueryKey(cluster, id))
}

// ClusterQueries returns the queries to the operator of a cluster.
func (s Snapshot) ClusterQueries(cluster string) []Read[ClusterQuery] {
	return collect[ClusterQuery](s.Prefix(ClusterQuerySetPrefix(cluster)))
}
