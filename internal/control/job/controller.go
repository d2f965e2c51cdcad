package job

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// Options choose what a Controller does.
type Options struct {
	// Kind is job or cronjob.
	Kind api.Kind
	// Refusals returns why tasks can't be placed, by task id; nil returns no reasons.
	Refusals func(records.Snapshot) map[string]placement.Refusal
	// Liveness says which nodes are lost, with their runs. Default one of its own, with a timeout of 30 s.
	Liveness *owner.Liveness
}

// Controller reconciles the jobs, or the cron jobs.
type Controller struct {
	control.Deps
	kind     api.Kind
	refusals func(records.Snapshot) map[string]placement.Refusal
	env      *environment.Environments
	declared *declarations
	liveness *owner.Liveness
}

// New returns the controller of a kind.
func New(deps control.Deps, opts Options) *Controller {
	deps = deps.Defaults()
	if opts.Liveness == nil {
		opts.Liveness = owner.NewLiveness(0, 0, nil)
	}
	return &Controller{
		Deps: deps, kind: opts.Kind, refusals: opts.Refusals, env: environment.New(deps.Sealer),
		declared: newDeclarations(), liveness: opts.Liveness,
	}
}

// Reconcile takes the next step of one object.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref := api.Ref{Kind: api.Kind(key.Kind), Scope: key.Scope, Name: key.Name}
	snapshot, now := c.Snapshot(), c.Now()
	object := snapshot.Object(ref)
	if !object.Exists() {
		return engine.Result{}, nil
	}
	o, err := c.observe(snapshot, object)
	if err != nil {
		return c.refuse(ctx, o, err, now)
	}
	if o.deleting() && len(o.tasks) == 0 {
		return c.Finalize(ctx, snapshot, o.object)
	}
	a, err := c.assess(snapshot, o, now)
	if err != nil {
		return engine.Result{}, err
	}
	return c.act(ctx, o, a, now)
}

// Name implements control.Controller.
func (c *Controller) Name() string { return string(c.kind) }

// Keys returns all objects of the kind, for the replay and the full pass.
func (c *Controller) Keys() []engine.Key { return control.Keys(c.Snapshot(), c.kind) }

// Dirty returns the objects with something to do. It is a pure pass over the view. It checks due times, runs and tasks,
// which are all that time changes; a change of what a run would execute comes with an event.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	return control.Dirty(c.Snapshot(), c.kind, now, c.dirty)
}

func (c *Controller) dirty(s records.Snapshot, object records.Read[api.Object], now time.Time) bool {
	o, err := c.observe(s, object)
	status := o.status.Value
	switch {
	case status == nil || status.ObservedRevision != object.Modified:
		return true
	case err != nil:
		return false // the status already reports it
	}
	plan := timetable.Decide(o.desired(owner.Target{}, "", nil), o.timetable(nil), now)
	return len(plan.Actions) > 0 || !plan.Timeline.Ahead.Equal(status.LastAhead) || plan.Waiting != "" || o.deleting() && len(o.tasks) == 0
}
