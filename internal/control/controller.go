package control

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// Controller reconciles the objects of a kind, or whatever else its keys name.
type Controller interface {
	engine.Reconciler
	// Name is the kind of the keys, and what logs and metrics call the controller.
	Name() string
	// Keys lists all keys, for the replay and the full pass.
	Keys() []engine.Key
	// Dirty lists the keys whose plan isn't empty: a pure pass over the view.
	Dirty(now time.Time) []engine.Key
	// Affected lists the keys that a change concerns.
	Affected(snapshot layout.Snapshot, change view.Change) []engine.Key
}

// Previewer is a Controller that can show what it would do with an object.
type Previewer interface {
	Preview(snapshot layout.Snapshot, object api.Object) ([]api.PlannedAction, error)
}

// Source is a Controller whose keys come from elsewhere too. Source runs until ctx ends, beside the reconciles.
type Source interface {
	Source(ctx context.Context, enqueue func(keys ...engine.Key)) error
}
