package pull

import (
	"encoding/json"
	"time"

	"tend.dev/tend/api"
)

// MediaType is the Content-Type of requests and answers, and names the version of the protocol.
const MediaType = "application/vnd.vworkspace.agent.v1+json"

// The paths of the protocol. Those of a job end in /ack, /status and /result behind its id. DeliveredPath answers with
// jobs that are done, with which the operator compares the cluster: none is to be done again. They come in the order of
// their ids, and an answer without jobs is the end. A control plane that does not have the path answers 404, and is
// sent no differences.
const (
	Prefix        = "/api/agent/"
	RegisterPath  = Prefix + "register"
	JobsPath      = Prefix + "jobs"
	DeliveredPath = Prefix + "delivered"
	EventsPath    = Prefix + "events"
	RotatePath    = Prefix + "credentials/rotate"
)

// ResumeParameter, with the value true in a request for jobs, asks for those too that were acknowledged and have no
// result: the operator has just started, and may have died in the middle of them. A control plane that does not know it
// sends them when their lease is over.
const ResumeParameter = "resume"

// AnnotationObject is on every resource that is sent: the control plane's object, and its generation, with a dot
// between them.
const AnnotationObject = "tend.dev/object"

// AfterParameter, in a request for DeliveredPath, is the id of the job behind which the answer begins.
const AfterParameter = "after"

// The bounds of the protocol.
const (
	// DefaultWait and MaxWait are how long a request for jobs waits for one.
	DefaultWait = 30 * time.Second
	MaxWait     = 300 * time.Second
	// MaxEvents is the most events of one request.
	MaxEvents = 100
	// MaxBody is the most bytes of a request's body.
	MaxBody = 4 << 20
	// RotationGrace is the time for which a token stays valid after another one has replaced it.
	RotationGrace = 24 * time.Hour
)

// Registration asks for a cluster's credential. The registration token is also the request's bearer token.
type Registration struct {
	RegistrationToken string `json:"registrationToken"`
	// ClusterID may be left out: the token names the cluster.
	ClusterID   string `json:"clusterId,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
}

// Credential is the answer to a registration and to a rotation.
type Credential struct {
	ClusterID string    `json:"clusterId,omitempty"`
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Jobs is the answer to a request for jobs, in the order in which they are to be done.
type Jobs struct {
	Jobs []Job `json:"jobs"`
	// Queries are to be answered beside the jobs, in any order. An operator that does not know them leaves them alone.
	Queries []Query `json:"queries,omitempty"`
}

// The kinds of a Job.
const (
	KindApply  = "apply"
	KindDelete = "delete"
	KindIntent = "intent"
)

// Job is one thing to do.
type Job struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Payload of an apply is the whole manifest, of a delete an api.ClusterResource.
	Payload json.RawMessage `json:"payload"`
	// IdempotencyKey is the same each time the same is asked for.
	IdempotencyKey string    `json:"idempotencyKey"`
	CreatedAt      time.Time `json:"createdAt"`
	// ExpiresAt is the time after which the job must not be executed.
	ExpiresAt time.Time `json:"expiresAt"`
	// Object names the control plane's object and its generation, as the annotation AnnotationObject of the resource
	// does. The operator doesn't execute a job of an older generation than the resource has.
	Object string `json:"object,omitempty"`
	// Signature is the result of Sign.
	Signature string `json:"signature,omitempty"`
	// Force has an apply take fields back that others have changed since they were applied. An operator that does not
	// know it reports a conflict.
	Force bool `json:"force,omitempty"`
}

// Condition is a condition of a resource.
type Condition struct {
	Type               string              `json:"type"`
	Status             api.ConditionStatus `json:"status"`
	Reason             string              `json:"reason,omitempty"`
	Message            string              `json:"message,omitempty"`
	LastTransitionTime time.Time           `json:"lastTransitionTime,omitzero"`
	ObservedGeneration int64               `json:"observedGeneration,omitempty"`
}

// Status reports the progress of a job. It may be sent any number of times between the job's acknowledgement and its
// result.
type Status struct {
	Phase      string      `json:"phase,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	Message    string      `json:"message,omitempty"`
	// AppliedRef is the resource as the job applied it. Conditions that speak of an older generation are not taken.
	AppliedRef *api.ClusterResource `json:"appliedRef,omitempty"`
	Timestamp  time.Time            `json:"timestamp"`
}

// The outcomes of a Result.
const (
	// OutcomeSucceeded: the resource is ready, or gone.
	OutcomeSucceeded = "succeeded"
	// OutcomeFailed: it could not be done; Error says why.
	OutcomeFailed = "failed"
	// OutcomeNoop: it was done before, or it has expired; then Error is ErrorExpired.
	OutcomeNoop = "noop"
	// OutcomeConflict: another field manager has set a field to another value; Error names both.
	OutcomeConflict = "conflict"
)

// ErrorExpired is the Error of a Result for a job that came too late.
const ErrorExpired = "expired"

// Result is the end of a job. It is sent once.
type Result struct {
	Outcome    string               `json:"outcome"`
	Error      string               `json:"error,omitempty"`
	AppliedRef *api.ClusterResource `json:"appliedRef,omitempty"`
	Timestamp  time.Time            `json:"timestamp"`
}

// The kinds of an Event that have a meaning here.
const (
	EventConditionTransition = "ConditionTransition"
	EventHeartbeat           = "ClusterHeartbeat"
)

// Events lists events of a cluster.
type Events struct {
	Events []Event `json:"events"`
}

// Event is one thing that happened.
type Event struct {
	// EventKey identifies it: an event that comes again is taken once.
	EventKey    string                `json:"eventKey,omitempty"`
	Kind        string                `json:"kind"`
	ResourceRef api.ClusterResource   `json:"resourceRef"`
	Conditions  []Condition           `json:"conditions,omitempty"`
	Endpoints   []api.ClusterEndpoint `json:"endpoints,omitempty"`
	// Inventory lists the objects of an application; nil says nothing about them.
	Inventory *Inventory `json:"inventory,omitempty"`
	// History lists the revisions of an application's Helm release; nil says nothing about them.
	History *History `json:"history,omitempty"`
	// State compares the resource with what a job applied; nil if the event says nothing of that. Its time is the event's.
	State     *State    `json:"state,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}

// Inventory lists the objects of an application: the first MaxInventory of Count.
type Inventory struct {
	Count   int                 `json:"count"`
	Objects []api.ClusterObject `json:"objects,omitempty"`
	// Health is the worst health of the objects; empty if none was read for the resource's generation.
	Health api.ClusterHealth `json:"health,omitempty"`
}

// MaxInventory bounds the objects of an Inventory.
const MaxInventory = 100

// History lists the newest revisions of a Helm release, the newest first: at most MaxRevisions.
type History struct {
	Revisions []api.HelmRevision `json:"revisions,omitempty"`
	// Current is the revision that the event's resource became, in its generation; 0 if that isn't known.
	Current int64 `json:"current,omitempty"`
}

// MaxRevisions bounds the revisions of a History.
const MaxRevisions = 10

// State compares a resource with the manifest of a job.
type State struct {
	// Key is the job's IdempotencyKey.
	Key string `json:"key"`
	// Missing: there is no such resource. Deleting: there is, and it is being deleted.
	Missing  bool `json:"missing,omitempty"`
	Deleting bool `json:"deleting,omitempty"`
	// Differences are the declared fields that the resource has otherwise.
	Differences []api.ClusterDifference `json:"differences,omitempty"`
}

// EventResourceState is the kind of an event that has a State alone.
const EventResourceState = "ResourceState"

// Error is the body of an answer that is an error.
type Error struct {
	// Code is a word: Unauthorized, Forbidden, NotFound, Closed, TooManyRequests, …
	Code      string `json:"error"`
	Message   string `json:"message"`
	RequestID string `json:"requestId,omitempty"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }
