package lab

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// Options choose what a Controller does.
type Options struct {
	// Refusals returns why tasks can't be placed, by task id; nil returns no reasons.
	Refusals func(records.Snapshot) map[string]placement.Refusal
	// Liveness says which nodes are lost, with their labs. Default one of its own, with a timeout of 30 s.
	Liveness *owner.Liveness
}

// Controller reconciles labs.
type Controller struct {
	control.Deps
	Options
	env *environment.Environments
}

// New returns the controller.
func New(deps control.Deps, opts Options) *Controller {
	deps = deps.Defaults()
	if opts.Liveness == nil {
		opts.Liveness = owner.NewLiveness(0, 0, nil)
	}
	return &Controller{Deps: deps, Options: opts, env: environment.New(deps.Sealer)}
}

// workers is how many labs are reconciled at once: a class begins and ends at one instant, and a commit is mostly waiting.
const workers = 16

// Workers returns how many labs are reconciled at once.
func (c *Controller) Workers() int { return workers }

// Name implements control.Controller.
func (c *Controller) Name() string { return string(api.KindLab) }

// Keys returns all labs, for the replay and the full pass.
func (c *Controller) Keys() []engine.Key { return control.Keys(c.Snapshot(), api.KindLab) }

// Reconcile takes the next step of one lab.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref := api.Ref{Kind: api.KindLab, Scope: key.Scope, Name: key.Name}
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

// Dirty returns the labs with something to do. It is a pure pass over the view.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	return control.Dirty(c.Snapshot(), api.KindLab, now, c.dirty)
}

func (c *Controller) dirty(s records.Snapshot, object records.Read[api.Object], now time.Time) bool {
	ref := object.Value.Ref()
	status := s.LabStatus(ref).Value
	switch {
	case status == nil || status.ObservedRevision != object.Modified:
		return true
	case resting(*status, now) && !object.Value.Metadata.Deleting() && len(s.TasksOf(ref)) == 0:
		return false
	}
	o, err := c.observe(s, object)
	if err != nil {
		return false // the status already reports it
	}
	plan := lab.Decide(o.desired("", ""), o.lab(), now)
	moved := plan.Phase != status.Phase
	due := plan.Waits == lab.ForRelease || plan.Waits == lab.ForNeed || plan.Waits == lab.ForRetry && !now.Before(plan.RetryAt)
	return moved || due || len(plan.Actions) > 0 || o.deleting() && len(o.tasks) == 0
}

// resting reports whether time changes nothing about a lab now.
func resting(status api.LabStatus, now time.Time) bool {
	return status.Phase.Ended() || status.Phase == api.LabPending && now.Before(status.StartsAt)
}
