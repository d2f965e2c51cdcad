package api

import (
	"slices"
	"time"
)

// ClusterSpec declares a Kubernetes cluster. Its name is the cluster's id.
type ClusterSpec struct {
	// DisplayName is a name for people, at most 128 characters. Default: the cluster's id.
	DisplayName string `json:"displayName,omitempty" hcl:"display_name,optional"`
	// Namespaces lists the namespaces that objects may be delivered to. Default: every namespace.
	Namespaces []string `json:"namespaces,omitempty" hcl:"namespaces,optional"`
	// Drift is the reaction to an object that was deleted or changed in the cluster: heal (default) applies it again,
	// report only reports it. The annotation tend.dev/drift sets it for one object.
	Drift string `json:"drift,omitempty" hcl:"drift,optional"`
}

// What is done about drift.
const (
	DriftHeal   = "heal"
	DriftReport = "report"
)

// AnnotationDrift, on an object that is delivered, has DriftHeal or DriftReport for it. It is not sent to the cluster.
const AnnotationDrift = "tend.dev/drift"

// Allows reports whether objects may be delivered to a namespace.
func (s ClusterSpec) Allows(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// The phases of a cluster.
const (
	ClusterPending      = "Pending"
	ClusterConnected    = "Connected"
	ClusterDisconnected = "Disconnected"
)

// ClusterStatus describes a cluster.
type ClusterStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ObservedRevision   int64 `json:"observedRevision,omitempty"`
	// Phase is Pending until an operator has registered, then Connected or Disconnected.
	Phase string `json:"phase,omitempty"`
	// RegisteredAt is the time of the last registration of an operator.
	RegisteredAt time.Time   `json:"registeredAt,omitzero"`
	Conditions   []Condition `json:"conditions,omitempty"`
	// Contact is the operator's report about itself. It is stored apart, and joined when the status is read.
	Contact *ClusterContact `json:"contact,omitempty"`
}

// ClusterContact is the report of a cluster's operator about itself. Key /actual/clusters/<cluster>; the servers that
// it asks write it.
type ClusterContact struct {
	// UID is the uid of the cluster's object. Another object of the same name starts without a contact.
	UID string `json:"uid"`
	// At is the time of the last contact, written at most every 15 seconds.
	At time.Time `json:"at"`
	// Operator is the name that the operator's client gives itself.
	Operator string `json:"operator,omitempty"`
	// Conditions lists the conditions of its last heartbeat with conditions.
	Conditions []Condition `json:"conditions,omitempty"`
}

// ClusterAccess holds the credentials of a cluster's operator. Key /clusters/access/<cluster>; the servers write it,
// each write under the condition that nobody else did. It holds hashes alone.
type ClusterAccess struct {
	// UID is the uid of the cluster's object.
	UID string `json:"uid"`
	// Registration is the token with which an operator may register; nil if none is valid.
	Registration *ClusterToken `json:"registration,omitempty"`
	// Token is the current token, Previous the one that a rotation replaced, until the rotation ends.
	Token    *ClusterToken `json:"token,omitempty"`
	Previous *ClusterToken `json:"previous,omitempty"`
	// RegisteredAt is the time of the registration that created Token or a token that it replaced.
	RegisteredAt time.Time `json:"registeredAt,omitzero"`
	// Keys counts how often the keys of jobs and of approvals were replaced.
	Keys int `json:"keys,omitempty"`
	// Unapplied counts those of Keys that the operator has not registered with: it has the ones before.
	Unapplied int `json:"unapplied,omitempty"`
}

// ClusterToken is a token as it is stored.
type ClusterToken struct {
	// Hash is the SHA-256 of the token, in hex.
	Hash     string    `json:"hash"`
	IssuedAt time.Time `json:"issuedAt"`
	// ExpiresAt is its end; zero if it has none.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Used: a request came with it.
	Used bool `json:"used,omitempty"`
}

// ClusterRegistration is the answer to a request for a registration token.
type ClusterRegistration struct {
	Cluster   string    `json:"cluster"`
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Address is the HOST:PORT that operators connect to. Authority is the PEM certificate by which they trust its
	// listener.
	Address   string `json:"address"`
	Authority string `json:"authority"`
	// ServerName is the name in the listener's certificate, whatever its address.
	ServerName string `json:"serverName"`
	// JobKeys are the public keys that jobs are signed with, ApprovalSecret is the key that checks claims of approvals.
	JobKeys        string `json:"jobKeys"`
	ApprovalSecret string `json:"approvalSecret"`
}
