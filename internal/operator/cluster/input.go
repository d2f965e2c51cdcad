package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"k8s.io/apimachinery/pkg/types"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/agent"
	"tend.dev/tend/internal/operator/transition"
)

// Trust is how the control plane, and what it says, is checked.
type Trust struct {
	// Authority is the certificate in PEM that signs the control plane's. Empty: those that the system trusts.
	Authority string
	// ServerName is the name in the control plane's certificate. Empty: the host of the endpoint.
	ServerName string
	// JobKeys are the public keys that jobs are signed with, one of which is enough. Empty: signatures are not checked.
	JobKeys string
	// ApprovalSecret is what claims of approvals are checked with. Empty: no claim is valid.
	ApprovalSecret string
}

// keeping returns the trust with what it lacks of the keys that were known before: once a key is known, it is not forgotten.
func (t Trust) keeping(known Trust) Trust {
	t.JobKeys, t.ApprovalSecret = cmp.Or(t.JobKeys, known.JobKeys), cmp.Or(t.ApprovalSecret, known.ApprovalSecret)
	return t
}

// Token is the registration token as its Secret has it.
type Token struct {
	// Value is the token; empty if there is none, and then Problem says why.
	Value, Problem string
	Trust          Trust
}

// fingerprint returns what is recorded of a registration token: the beginning of its SHA-256.
func (t Token) fingerprint() string {
	if t.Value == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(t.Value))
	return hex.EncodeToString(sum[:8])
}

// Credentials are what the Secret with the credentials has.
type Credentials struct {
	// Owner is the UID of the Cluster that the Secret belongs to; empty if it belongs to none.
	Owner types.UID
	// ClusterID and Token are the credential.
	ClusterID, Token string
	// RegisteredWith is the fingerprint of the registration token that was exchanged for it, Forced the annotation at that time.
	// RegisteredWith is empty if the Secret was made by hand.
	RegisteredWith, Forced string
	RegisteredAt           time.Time
	// IssuedAt is when the credential itself was issued: by the registration, or by the last rotation.
	IssuedAt time.Time
	Trust    Trust
}

// ExchangeKind is a request that returns another credential.
type ExchangeKind string

// The kinds of exchanges.
const (
	Register ExchangeKind = "register"
	Rotate   ExchangeKind = "rotate"
)

// Exchange is a request for another credential.
type Exchange struct {
	// Kind is empty if nothing is to be requested.
	Kind ExchangeKind
	// For identifies the request: an attempt at another one says nothing about it.
	For string
	// Token is the registration token, Forced the annotation that asks for its use.
	Token, Forced string
	// Trust is what came with the token. Its keys count once the token was exchanged.
	Trust Trust
}

// Failure says how an exchange failed.
type Failure int

// The values of Failure.
const (
	// NoFailure: the exchange succeeded.
	NoFailure Failure = iota
	// Refused: the control plane refused the token.
	Refused
	// Unreachable: there was no answer, or one that asks to try again.
	Unreachable
	// Local: the credential could not be stored.
	Local
)

// Outcome is how an exchange ended.
type Outcome struct {
	For     string
	At      time.Time
	Failure Failure
	// Message says what failed.
	Message string
}

// State is how the connection is. It is lost when the operator ends; all that must not be is in the Secret and the status.
type State struct {
	// Busy is whether a session or an exchange has not ended.
	Busy bool
	// Health is what the agent says; nil if it has not said anything.
	Health *agent.Health
	// RoundTrip is when a request worked last; zero if none did.
	RoundTrip time.Time
	// Dropped is how many events were dropped since the buffer was empty last.
	Dropped int
	// Exchanges are the ends of the last exchange of each kind.
	Exchanges map[ExchangeKind]Outcome
}

// Input is what Decide depends on.
type Input struct {
	Cluster *opsv1alpha1.Cluster
	// Counts is the name of the Cluster that counts: there should be one.
	Counts string
	// Enabled is false if this operator has no agent.
	Enabled bool
	Token   Token
	// Credentials is nil if there are none.
	Credentials *Credentials
	// Secret and Namespace say where the credentials are.
	Secret, Namespace string
	Connection        State
	Controllers       []opsv1alpha1.ControllerStatus
	// Managed are the namespaces that the operator may work in; none if it may in all.
	Managed []opsv1alpha1.ManagedNamespace
	Version string
	Now     time.Time
}

// Link says where the control plane is.
type Link struct {
	Endpoint, ClusterID string
	Trust               Trust
}

// Wanted is what the connection is to do.
type Wanted struct {
	// Cluster and UID are those of the object that the connection is of.
	Cluster string
	UID     types.UID
	Link    Link
	// Run is whether the agent is to run, Token the credential that is stored.
	Run      bool
	Token    string
	Exchange Exchange
}

// Event is a Kubernetes Event.
type Event = transition.Event

// Plan is what is to be done.
type Plan struct {
	Status opsv1alpha1.ClusterStatus
	Events []Event
	// Finalizer is whether the Cluster is to have its finalizer.
	Finalizer bool
	// Drop is whether the Secret with the credentials is to be deleted: it is of another Cluster.
	Drop   bool
	Wanted Wanted
	// After is when to look again; zero if nothing but a change is a reason.
	After time.Duration
}
