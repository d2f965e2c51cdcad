package link

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"k8s.io/apimachinery/pkg/types"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/puller"
	"tend.dev/tend/internal/operator/transition"
)

// Trust is used to check the control plane and its messages.
type Trust struct {
	// Authority is the certificate, in PEM, that signed the control plane's. Empty: the system's authorities.
	Authority string
	// ServerName is the DNS name in the control plane's certificate. Empty: the host of the endpoint.
	ServerName string
	// JobKeys are the public keys that jobs may be signed with. Empty: signatures are not checked.
	JobKeys string
	// ApprovalSecret checks claims of approvals. Empty: no claim is valid.
	ApprovalSecret string
}

// keeping returns the trust, completed with previously known keys: a known key is not forgotten.
func (t Trust) keeping(known Trust) Trust {
	t.JobKeys, t.ApprovalSecret = cmp.Or(t.JobKeys, known.JobKeys), cmp.Or(t.ApprovalSecret, known.ApprovalSecret)
	return t
}

// Token is the registration token in its Secret.
type Token struct {
	// Value is the token. If it is empty, Problem says why.
	Value, Problem string
	Trust          Trust
}

// fingerprint returns the recorded form of a registration token: the beginning of its SHA-256.
func (t Token) fingerprint() string {
	if t.Value == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(t.Value))
	return hex.EncodeToString(sum[:8])
}

// Credentials are the contents of the Secret with the credentials.
type Credentials struct {
	// Owner is the UID of the Cluster that owns the Secret, or empty.
	Owner types.UID
	// ClusterID and Token are the credential.
	ClusterID, Token string
	// RegisteredWith is the fingerprint of the exchanged registration token, and Forced the annotation at that time.
	// RegisteredWith is empty if a person created the Secret.
	RegisteredWith, Forced string
	RegisteredAt           time.Time
	// IssuedAt is the time of the credential's issue, by the registration or the last rotation.
	IssuedAt time.Time
	Trust    Trust
}

// ExchangeKind names a request that returns a new credential.
type ExchangeKind string

// The kinds of exchanges.
const (
	Register ExchangeKind = "register"
	Rotate   ExchangeKind = "rotate"
)

// Exchange is a request for a new credential.
type Exchange struct {
	// Kind is empty if nothing is requested.
	Kind ExchangeKind
	// For identifies the request. The outcome of another request doesn't count.
	For string
	// Token is the registration token, Forced the annotation that requests its use.
	Token, Forced string
	// Trust came with the token. Its keys count once the token was exchanged.
	Trust Trust
}

// Failure classifies a failed exchange.
type Failure int

// The values of Failure.
const (
	// NoFailure: the exchange succeeded.
	NoFailure Failure = iota
	// Refused: the control plane refused the token.
	Refused
	// Unreachable: the control plane gave no answer, or one that asks for a retry.
	Unreachable
	// Local: the credential could not be stored.
	Local
)

// Outcome is the result of an exchange.
type Outcome struct {
	For     string
	At      time.Time
	Failure Failure
	// Message says what failed.
	Message string
}

// State is the state of the connection. It is lost when the operator ends; everything that must be kept is in the
// Secret and the status.
type State struct {
	// Busy is set while a session or an exchange is running.
	Busy bool
	// Health is the puller's last report, or nil.
	Health *puller.Health
	// RoundTrip is the time of the last successful request; zero if there was none.
	RoundTrip time.Time
	// Dropped is the number of events dropped since the buffer was last empty.
	Dropped int
	// Exchanges are the last outcomes of each kind.
	Exchanges map[ExchangeKind]Outcome
}

// Input holds everything that Decide depends on.
type Input struct {
	Cluster *opsv1alpha1.Cluster
	// Counts is the name of the Cluster that is used: the oldest, if there are several. There should be one.
	Counts string
	// Enabled is false if this operator has no puller.
	Enabled bool
	Token   Token
	// Credentials is nil if none are stored.
	Credentials *Credentials
	// Secret and Namespace name the Secret with the credentials.
	Secret, Namespace string
	Connection        State
	Controllers       []opsv1alpha1.ControllerStatus
	// Managed are the namespaces that the operator may work in. Empty means all.
	Managed []opsv1alpha1.ManagedNamespace
	Version string
	Now     time.Time
}

// Link is the address of the control plane, and how to check it.
type Link struct {
	Endpoint, ClusterID string
	Trust               Trust
}

// Wanted is a request for the connection.
type Wanted struct {
	// Cluster and UID identify the Cluster of the connection.
	Cluster string
	UID     types.UID
	Link    Link
	// Run is set if the puller should run, with the stored credential Token.
	Run      bool
	Token    string
	Exchange Exchange
}

// Event is a Kubernetes Event.
type Event = transition.Event

// Plan is a decision.
type Plan struct {
	Status opsv1alpha1.ClusterStatus
	Events []Event
	// Finalizer is set if the Cluster should have its finalizer.
	Finalizer bool
	// Drop deletes the Secret with the credentials, because it belongs to another Cluster.
	Drop   bool
	Wanted Wanted
	// After is the time until the next reconcile; zero if only a change requires one.
	After time.Duration
}
