package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// refuse writes into the conditions why a deployment can't be reconciled, and keeps the release in force; see
// owner.UnworkableError.
func (c *Controller) refuse(ctx context.Context, o observed, cause error, now time.Time) (engine.Result, error) {
	var unworkable *owner.UnworkableError
	if !errors.As(cause, &unworkable) {
		return engine.Result{}, cause
	}
	a := o.standing(unworkable, now)
	step := c.begin(o, a, now)
	actions, _ := firstActions(a.plan.Actions) // the full pass does the rest, and what only time causes
	for _, action := range actions {
		step.write(action)
	}
	if err := step.putStatus(o.refusedStatus(a, unworkable, now)); err != nil {
		return engine.Result{}, err
	}
	revision, err := c.Commit(ctx, step.txn, records.StatusKey(o.ref))
	if err != nil {
		return engine.Result{}, err
	}
	if revision > 0 {
		c.log(ctx, o, a, actions)
	}
	return engine.Result{Revision: revision}, engine.Terminal(unworkable)
}

// standing plans for the release in force while it is unknown what the spec amounts to. It fills missing slots and
// stops surplus ones, but turns no slot to or away from the release. If the spec can't be read, not even the number of
// replicas is known and the plan is empty.
func (o observed) standing(unworkable *owner.UnworkableError, now time.Time) assessment {
	release := o.release(o.rollout().TargetRelease)
	if unworkable.Reason == api.ReasonInvalidSpec || release == nil {
		return assessment{}
	}
	a := assessment{slots: o.asOf(release, o.slots(), now), known: true, target: target{release: release, awaits: true, superseded: true}}
	a.desired = o.desired(a.target)
	a.desired.LastGood = ""
	a.plan = rollout.Decide(a.desired, a.slots, now)
	return a
}

// refusedStatus keeps the known status and adds that the spec isn't acted on.
func (o observed) refusedStatus(a assessment, unworkable *owner.UnworkableError, now time.Time) api.WorkloadStatus {
	s := api.WorkloadStatus{}
	if o.status.Value != nil {
		s = *o.status.Value
	}
	s.ObservedGeneration, s.ObservedRevision = o.object.Value.Metadata.Generation, o.object.Modified
	if unworkable.Reason != api.ReasonInvalidSpec {
		s.Replicas = o.spec.ReplicaCount()
	}
	if counts := a.plan.Counts; a.known {
		s.Running, s.Ready, s.Updated, s.Frozen = counts.Running, counts.Ready, counts.Updated, counts.Frozen
	}
	ready := ""
	if a.known {
		ready = fmt.Sprintf("%d of %d replicas ready", s.Ready, s.Replicas)
	}
	s.Conditions = unworkable.Conditions(s.Conditions, ready, now)
	return s
}

// refusalDue reports whether refuse would write anything.
func (o observed) refusalDue(cause error, now time.Time) bool {
	var unworkable *owner.UnworkableError
	if !errors.As(cause, &unworkable) {
		return true
	}
	a := o.standing(unworkable, now)
	changed, err := o.statusChanged(o.refusedStatus(a, unworkable, now))
	return changed || err != nil || len(a.plan.Actions)+len(o.cleared) > 0
}
