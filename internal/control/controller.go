package control

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Controller reconciles the objects of a kind, or whatever else its keys name.
type Controller interface {
	reconciler.Reconciler
	// Name returns the kind of the keys. Logs and metrics use it as the controller's name.
	Name() string
	// Keys returns all keys, for the replay and the full pass.
	Keys() []reconciler.Key
	// Dirty returns the keys whose plan is not empty. It is a pure pass over the view.
	Dirty(now time.Time) []reconciler.Key
	// Affected returns the keys to reconcile after a change.
	Affected(snapshot records.Snapshot, change view.Change) []reconciler.Key
}

// Previewer is a Controller that can show what it would do with an object.
type Previewer interface {
	Preview(snapshot records.Snapshot, object api.Object) ([]api.PlannedAction, error)
}

// Source is a Controller whose keys also come from elsewhere. Source runs until ctx ends, alongside the reconciles.
type Source interface {
	Source(ctx context.Context, enqueue func(keys ...reconciler.Key)) error
}
