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
	// Apply applies a manifest by server-side apply, without force, and returns the resource. Its error is a *ConflictError if another
	// field manager has set a field to another value.
	Apply(ctx context.Context, manifest json.RawMessage) (api.ClusterResource, error)
	// Delete asks that a resource go. One that is gone is no error.
	Delete(ctx context.Context, ref api.ClusterResource) error
	// Observe returns how a resource is.
	Observe(ctx context.Context, ref api.ClusterResource) (Observation, error)
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

// settled reports whether the conditions are those of the present generation, and say that nothing is under way any more.
func (o Observation) settled() bool {
	if !o.Found || o.ObservedGeneration < o.Resource.Generation {
		return false
	}
	for _, c := range o.Conditions {
		switch c.Type {
		case "Ready", "Succeeded", "Failed", "Cancelled":
			if c.Status == api.ConditionTrue {
				return true
			}
		}
	}
	return false
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
