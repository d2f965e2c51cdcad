package job

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// refuse writes into the conditions why an object can't be reconciled; see owner.UnworkableError.
func (c *Controller) refuse(ctx context.Context, o observed, cause error, now time.Time) (engine.Result, error) {
	var unworkable *owner.UnworkableError
	if !errors.As(cause, &unworkable) {
		return engine.Result{}, cause
	}
	status := api.JobStatus{}
	if o.status.Value != nil {
		status = *o.status.Value
	}
	status.ObservedGeneration, status.ObservedRevision = o.object.Value.Metadata.Generation, o.object.Modified
	status.Conditions = unworkable.Conditions(status.Conditions, "", now)
	s := c.begin(o, nil, now)
	if err := s.putStatus(status); err != nil {
		return engine.Result{}, err
	}
	revision, err := c.Commit(ctx, s.txn, records.StatusKey(o.ref))
	if err != nil {
		return engine.Result{}, err
	}
	return engine.Result{Revision: revision}, engine.Terminal(unworkable)
}
