package puller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// Applier changes and observes the resources of the cluster.
type Applier interface {
	// Apply applies a manifest by server-side apply and returns the resource. Without force it returns a *ConflictError if
	// another field manager has set a field to another value. With force it takes the field back.
	Apply(ctx context.Context, manifest json.RawMessage, force bool) (api.ClusterResource, error)
	// Delete requests the deletion of a resource. A missing resource is not an error.
	Delete(ctx context.Context, ref api.ClusterResource) error
	// Observe returns the state of a resource.
	Observe(ctx context.Context, ref api.ClusterResource) (Observation, error)
	// Compare returns how a resource differs from its manifest, and the resource as it is.
	Compare(ctx context.Context, manifest json.RawMessage) (pull.State, api.ClusterResource, error)
}

// Observation is the state of a resource.
type Observation struct {
	// Found is set if the resource exists.
	Found bool
	// Resource names it, with its uid and generation.
	Resource api.ClusterResource
	// ObservedGeneration is the generation that its conditions describe.
	ObservedGeneration int64
	Conditions         []pull.Condition
	// Inventory lists the objects it consists of, or nil.
	Inventory *pull.Inventory
	// History lists the revisions of its Helm release, or nil.
	History *pull.History
}

// end is the progress of a resource with what was applied.
type end int

// The values of end.
const (
	// open means that it is under way, or waits for something.
	open end = iota
	// healthy means that it is ready or has succeeded.
	healthy
	// unhealthy means that it has failed and nothing is under way any more.
	unhealthy
)

// ends returns how far a resource is, by the conditions of its current generation, and why it is unhealthy.
func (o Observation) ends() (is end, why string) {
	if !o.Found || o.ObservedGeneration < o.Resource.Generation {
		return open, ""
	}
	switch {
	case o.is("Ready"), o.is("Succeeded"):
		return healthy, ""
	case o.is("Failed"):
		return unhealthy, o.why("Failed")
	case o.is("Cancelled"):
		return unhealthy, o.why("Cancelled")
	case o.is("Degraded") && !o.is("Reconciling"):
		return unhealthy, o.why("Degraded")
	}
	return open, ""
}

// blocked returns what a person must do before the resource can proceed, or an empty text.
func (o Observation) blocked() string {
	if !o.is("Blocked") {
		return ""
	}
	return o.why("Blocked")
}

func (o Observation) is(kind string) bool {
	c := o.condition(kind)
	return c != nil && c.Status == api.ConditionTrue
}

// why returns the reason and message of a condition, or an empty text.
func (o Observation) why(kind string) string {
	c := o.condition(kind)
	switch {
	case c == nil:
		return ""
	case c.Message == "":
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}

func (o Observation) condition(kind string) *pull.Condition {
	for i := range o.Conditions {
		if o.Conditions[i].Type == kind {
			return &o.Conditions[i]
		}
	}
	return nil
}

// ErrPassing is part of an error that doesn't concern the job itself: the API server, or one of its webhooks, didn't
// answer. The job is done again.
var ErrPassing = errors.New("the API server gave no answer")

// ConflictError reports a field that another field manager has set to another value.
type ConflictError struct {
	Manager string
	Field   string
	// Next says what a person can do about it; empty if that is not known.
	Next string
}

func (e *ConflictError) Error() string {
	text := fmt.Sprintf("field manager %s has set %s to another value", e.Manager, e.Field)
	if e.Next != "" {
		text += ": " + e.Next
	}
	return text
}

// Credentials store the puller's credential.
type Credentials interface {
	// Load returns the stored credential.
	Load(ctx context.Context) (pull.Credential, error)
	// Save replaces it.
	Save(ctx context.Context, credential pull.Credential) error
}

// KeyStore stores KeyPages texts of bounded size, numbered from 0. Keys uses it.
type KeyStore interface {
	Load(ctx context.Context, page int) ([]byte, error)
	Save(ctx context.Context, page int, text []byte) error
}

// Health is the state of the connection.
type Health struct {
	// Connected says that the last request was answered, Authenticated that the credential was not refused.
	Connected, Authenticated bool
	// Reason says why one of them is false.
	Reason string
}
