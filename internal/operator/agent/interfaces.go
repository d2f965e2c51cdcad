package agent

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
	// Apply applies a manifest by server-side apply and returns the resource. Without force its error is a *ConflictError if another
	// field manager has set a field to another value; with force it takes the field back.
	Apply(ctx context.Context, manifest json.RawMessage, force bool) (api.ClusterResource, error)
	// Delete asks that a resource go. One that is gone is no error.
	Delete(ctx context.Context, ref api.ClusterResource) error
	// Observe returns how a resource is.
	Observe(ctx context.Context, ref api.ClusterResource) (Observation, error)
	// Compare returns how the resource of a manifest differs from it, and the resource as it is.
	Compare(ctx context.Context, manifest json.RawMessage) (pull.State, api.ClusterResource, error)
}

// Observation is how a resource is.
type Observation struct {
	// Found is false if there is no such resource.
	Found bool
	// Resource names it, with its uid and generation.
	Resource api.ClusterResource
	// ObservedGeneration is the one that its conditions speak of.
	ObservedGeneration int64
	Conditions         []pull.Condition
	// Inventory is what it consists of; nil if it consists of nothing.
	Inventory *pull.Inventory
}

// end is how far a resource is with what was applied.
type end int

// The values of end.
const (
	// open: it is under way, or waits for something.
	open end = iota
	// healthy: it is ready, or has succeeded.
	healthy
	// unhealthy: it has failed, and nothing is under way any more.
	unhealthy
)

// ends returns how far a resource is by the conditions of its present generation, and why it is unhealthy.
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

// blocked returns what a resource waits for a person to do; empty if it doesn't.
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

// why returns the reason and the message of a condition; empty if there is none.
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

// ErrPassing is part of an error that says nothing of the job: the API server had no answer at the time, or one of its webhooks
// hadn't. The job is done again.
var ErrPassing = errors.New("the API server could not say")

// ConflictError is a field that another field manager has set to another value.
type ConflictError struct {
	Manager string
	Field   string
	// Next is what a person can do about it; "" if that is not known.
	Next string
}

func (e *ConflictError) Error() string {
	text := fmt.Sprintf("field manager %s has set %s to another value", e.Manager, e.Field)
	if e.Next != "" {
		text += ": " + e.Next
	}
	return text
}

// Credentials keep what the agent authenticates with.
type Credentials interface {
	// Load returns the credential as it is stored now.
	Load(ctx context.Context) (pull.Credential, error)
	// Save stores another one.
	Save(ctx context.Context, credential pull.Credential) error
}

// KeyStore keeps one text of bounded size. Keys lie in it.
type KeyStore interface {
	Load(ctx context.Context) ([]byte, error)
	Save(ctx context.Context, text []byte) error
}

// Health is how the connection is.
type Health struct {
	// Connected: the last request was answered. Authenticated: the credential was not refused.
	Connected, Authenticated bool
	// Reason is why one of them is false.
	Reason string
}
