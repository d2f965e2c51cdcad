package deployment

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/rollout"
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
	o, found, err := c.observe(c.Snapshot(), ref)
	if !found || err != nil {
		return engine.Result{}, err
	}
	now := c.Now()
	a, err := c.assess(o, now)
	if err != nil {
		return engine.Result{}, err
	}
	if o.object.Value.Metadata.Deleting() && len(o.tasks) == 0 {
		revision, err := c.finalize(ctx, o)
		return engine.Result{Revision: revision}, err
	}
	revision, err := c.act(ctx, o, a, now)
	return engine.Result{Revision: revision, After: a.after(revision)}, err
}

// after is when to look again without an event: when the plan says so, and at once after a step that no event follows.
func (a assessment) after(revision int64) time.Duration {
	for _, action := range a.plan.Actions {
		if action.Verb == rollout.RollBack && revision > 0 {
			return time.Millisecond
		}
	}
	return a.plan.After
}

// Keys lists every deployment, for the replay and the full look.
func (c *Controller) Keys() []engine.Key {
	var out []engine.Key
	for object := range c.Snapshot().Objects(api.KindDeployment) {
		out = append(out, Key(object.Value.Ref()))
	}
	return out
}

// Dirty lists the deployments whose plan isn't empty: a pure pass over the view.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	var out []engine.Key
	snapshot := c.Snapshot()
	for object := range snapshot.Objects(api.KindDeployment) {
		o, found, err := c.observe(snapshot, object.Value.Ref())
		if !found {
			continue
		}
		a, assessErr := c.assess(o, now)
		if err != nil || assessErr != nil || len(a.plan.Actions) > 0 || a.target.mint {
			out = append(out, Key(o.ref))
		}
	}
	return out
}

// Key is the engine's key of an object.
func Key(ref api.Ref) engine.Key {
	return engine.Key{Kind: string(ref.Kind), Scope: ref.Scope, Name: ref.Name}
}
