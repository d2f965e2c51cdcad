package pull

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// QueriesPath takes the answers to queries, at the id of one and /answer. Queries come with jobs, in the same answer.
const QueriesPath = Prefix + "queries"

// The bounds of queries.
const (
	// QueryLife is the time after which a query is not to be answered any more. It has room for clocks that differ.
	QueryLife = time.Minute
	// AnswerWait is the time for which the answer is waited for, AnswerTime the part of it that an operator may take.
	AnswerWait = 30 * time.Second
	AnswerTime = 25 * time.Second
	// MaxTail is the most lines of one container.
	MaxTail = 5000
	// MaxAnswer is the most bytes of an answer, as it is sent.
	MaxAnswer = 256 << 10
	// MaxOutputs is the most containers of an answer.
	MaxOutputs = 60
)

// ErrQuery means that a query is not the control plane's.
var ErrQuery = errors.New("the query is not signed with a key that this cluster knows: nothing was read. " +
	"If the control plane has other keys now, apply what tend clusters add prints")

// Query asks for the output of the pods of an ApplicationInstance. It changes nothing, and is answered at most once.
type Query struct {
	ID string `json:"id"`
	// Namespace and Name are those of the ApplicationInstance. Object is the uid of the control plane's object, which
	// the resource has in the annotation AnnotationObject.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Object    string `json:"object"`
	// Pod is the name of the one pod to read, Container of the one container of each pod. Empty means all.
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Tail is the number of last lines of each container, from 0 to MaxTail.
	Tail int `json:"tail"`
	// Since leaves out older lines. Zero leaves out none.
	Since time.Time `json:"since,omitzero"`
	// Previous asks for the containers that ran before those of now.
	Previous  bool      `json:"previous,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt is the time after which the query must not be answered.
	ExpiresAt time.Time `json:"expiresAt"`
	// Signature is the result of SignQuery.
	Signature string `json:"signature,omitempty"`
}

// querySignedAs begins the text that is signed, and says for what: no signature of a job is one of a query.
const querySignedAs = "tend query 1"

// signed returns the bytes that a query's signatures are of: everything but these, for one cluster.
func (q Query) signed(cluster string) ([]byte, error) {
	q.Signature = ""
	for _, at := range []*time.Time{&q.Since, &q.CreatedAt, &q.ExpiresAt} {
		*at = at.UTC()
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("encode the query: %w", err)
	}
	return append([]byte(querySignedAs+"\n"+cluster+"\n"), text...), nil
}

// SignQuery returns a query's Signature, in the form of a job's.
func SignQuery(q Query, cluster string, keys ...ed25519.PrivateKey) (string, error) {
	text, err := q.signed(cluster)
	if err != nil {
		return "", err
	}
	return sign(text, keys), nil
}

// VerifyQuery returns nil if one of a query's signatures is by one of the public keys. With no key it returns ErrQuery:
// output goes to a control plane that is known, and to no other.
func VerifyQuery(q Query, cluster, publicKeys string) error {
	text, err := q.signed(cluster)
	if err != nil {
		return err
	}
	if !verify(text, q.Signature, publicKeys) {
		return ErrQuery
	}
	return nil
}

// Answer is the answer to a Query.
type Answer struct {
	Outputs []Output `json:"outputs,omitempty"`
	// Notes say which output is missing, and why.
	Notes []string `json:"notes,omitempty"`
	// Refusal is the reason for no output at all; nil if there is output.
	Refusal *Refusal `json:"refusal,omitempty"`
}

// Output holds the lines of one container of a pod, in the order of time.
type Output struct {
	Pod       string       `json:"pod"`
	Container string       `json:"container"`
	Lines     []OutputLine `json:"lines,omitempty"`
	// Error is the cause of a failed read.
	Error string `json:"error,omitempty"`
}

// OutputLine is one line of an Output.
type OutputLine struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Refusal is the reason for a query without output.
type Refusal struct {
	Reason  RefusalReason `json:"reason"`
	Message string        `json:"message"`
}

// RefusalReason is a word for why there is no output.
type RefusalReason string

// The values of RefusalReason.
const (
	// RefusedNotEnabled: the operator has no right to read the output of pods.
	RefusedNotEnabled RefusalReason = "NotEnabled"
	// RefusedNotFound: there is no such instance, pod or container, or it has printed nothing yet.
	RefusedNotFound RefusalReason = "NotFound"
	// RefusedQuery: the query is not the control plane's, or came too late.
	RefusedQuery RefusalReason = "Refused"
	// RefusedFailed: the API server could not say.
	RefusedFailed RefusalReason = "Failed"
)
