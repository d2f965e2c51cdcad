package workload

import (
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
)

// refuse returns the step of a workload that can't be reconciled: its conditions say why, and the release in force
// stays; see owner.UnworkableError.
func refuse(at control.Observation, o observed, cause error) (control.Step, error) {
	var unworkable *owner.UnworkableError
	if !errors.As(cause, &unworkable) {
		return control.Step{}, cause
	}
	a := o.standing(unworkable, at.Now)
	w := begin(at, o, a)
	next := control.Step{Txn: w.txn, Status: o.refusedStatus(a, unworkable, at.Now), Stalled: unworkable}
	actions, _ := firstActions(a.plan.Actions) // the full pass does the rest, and what only time causes
	for _, action := range actions {
		w.write(action)
	}
	w.plan(&next, actions)
	if at.DryRun && unworkable.Reason != api.ReasonInvalidSpec { // it may be stored, and waits
		text := fmt.Sprintf("%v: %s", unworkable.Cause, unworkable.Next)
		refused := api.PlannedAction{Object: o.ref, Verb: "refuse", Reason: unworkable.Reason, Text: text}
		next.Actions, next.Stalled = append(next.Actions, refused), nil
	}
	return next, nil
}

// standing plans for the release in force while it is unknown what the spec amounts to. It fills missing slots and
// stops surplus ones, but turns no slot to or away from the release. If the spec can't be read, not even the number of
// replicas is known and the plan is empty.
func (o observed) standing(unworkable *owner.UnworkableError, now time.Time) assessment {
	release := o.release(o.rollout().TargetRelease)
	if unworkable.Reason == api.ReasonInvalidSpec || release == nil {
		return assessment{}
	}
	a := assessment{slots: o.asOf(release, o.slots(), now), known: true,
		target: target{release: release, awaits: true, superseded: true}}
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
		ready = fmt.Sprintf("%d of %d replicas ready", min(s.Ready, s.Replicas), s.Replicas)
	}
	s.Conditions = unworkable.Conditions(s.Conditions, ready, now)
	return s
}
