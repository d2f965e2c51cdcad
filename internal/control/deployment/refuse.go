package deployment

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/engine"
)

// refuse says in the conditions why a deployment can't be worked on. It isn't tried again by itself: the next write of
// the object, or of what its environment is made of, is the next try.
func (c *Controller) refuse(ctx context.Context, o observed, cause error, now time.Time) (engine.Result, error) {
	var unworkable *UnworkableError
	if !errors.As(cause, &unworkable) {
		return engine.Result{}, cause
	}
	step := c.begin(o, assessment{}, now)
	if err := step.putStatus(o.refusedStatus(unworkable, now)); err != nil {
		return engine.Result{}, err
	}
	revision, err := step.txn.Commit(ctx, c.Store)
	if err != nil {
		return engine.Result{}, err
	}
	return engine.Result{Revision: revision}, engine.Terminal(unworkable)
}

// refusedStatus keeps what was known and says that it isn't acted on.
func (o observed) refusedStatus(unworkable *UnworkableError, now time.Time) api.WorkloadStatus {
	s := api.WorkloadStatus{}
	if o.status.Value != nil {
		s = *o.status.Value
	}
	s.ObservedGeneration, s.ObservedRevision = o.object.Value.Metadata.Generation, o.object.Modified
	for _, conditionType := range []string{api.ConditionReady, api.ConditionProgressing, api.ConditionDegraded} {
		c := api.Condition{Type: conditionType, Status: api.ConditionFalse, Reason: unworkable.Reason, Message: unworkable.say()}
		if conditionType == api.ConditionDegraded {
			c.Status = api.ConditionTrue
		}
		s.Conditions = api.SetCondition(s.Conditions, c, now)
	}
	return s
}

// refusalDue says whether the conditions don't say it yet.
func (o observed) refusalDue(cause error, now time.Time) bool {
	var unworkable *UnworkableError
	if !errors.As(cause, &unworkable) {
		return true
	}
	changed, err := o.statusChanged(o.refusedStatus(unworkable, now))
	return changed || err != nil
}
