package deployment

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
)

// Controller reconciles deployments.
type Controller struct {
	control.Deps
	env      environment
	refusals func(layout.Snapshot) map[string]placement.Refusal
}

// New makes the controller. refusals explains tasks that no node takes, by task id; nil explains none.
func New(deps control.Deps, refusals func(layout.Snapshot) map[string]placement.Refusal) *Controller {
	deps = deps.Defaults()
	return &Controller{Deps: deps, env: environment{sealer: deps.Sealer}, refusals: refusals}
}

// Reconcile looks at one deployment and does the next step.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref := api.Ref{Kind: api.Kind(key.Kind), Scope: key.Scope, Name: key.Name}
	snapshot, now := c.Snapshot(), c.Now()
	o, found, err := c.observe(snapshot, ref)
	switch {
	case !found:
		return engine.Result{}, nil
	case err != nil:
		return c.refuse(ctx, o, err, now)
	case o.deleting() && len(o.tasks) == 0:
		return c.finalize(ctx, snapshot, o)
	}
	a, err := c.assess(o, now)
	if err != nil {
		return engine.Result{}, err
	}
	return c.act(ctx, o, a, now)
}

// Keys lists every deployment, for the replay and the full look.
func (c *Controller) Keys() []engine.Key {
	var out []engine.Key
	for object := range c.Snapshot().Objects(api.KindDeployment) {
		out = append(out, Key(object.Value.Ref()))
	}
	return out
}

// Dirty lists the deployments that a look would write something for: a pure pass over the view.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	var out []engine.Key
	snapshot := c.Snapshot()
	for object := range snapshot.Objects(api.KindDeployment) {
		if c.dirty(snapshot, object, now) {
			out = append(out, Key(object.Value.Ref()))
		}
	}
	return out
}

func (c *Controller) dirty(s layout.Snapshot, object layout.Read[api.Object], now time.Time) bool {
	o, err := c.observeAs(s, object)
	switch {
	case err != nil:
		return o.refusalDue(err, now)
	case o.deleting() && len(o.tasks) == 0:
		return true
	}
	a, err := c.assess(o, now)
	if err != nil {
		return true
	}
	due, err := o.due(a, now)
	return due || err != nil
}

// Key is the engine's key of an object.
func Key(ref api.Ref) engine.Key {
	return engine.Key{Kind: string(ref.Kind), Scope: ref.Scope, Name: ref.Name}
}
