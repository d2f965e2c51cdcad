package lab

import (
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// nextStatus returns the lab's status after a reconcile.
func (o observed) nextStatus(a assessment, now time.Time) api.LabStatus {
	was, p := o.before(), a.plan
	s := was
	s.ObservedGeneration, s.ObservedRevision = o.object.Value.Metadata.Generation, o.object.Modified
	s.Phase, s.StartedAt, s.Failures, s.RetryAt = p.Phase, p.StartedAt, p.Failures, p.RetryAt.UTC()
	s.StartsAt, s.Extended = o.spec.StartsAt(), ""
	if extended := o.asked().Extended; extended > 0 {
		s.Extended = api.Duration(extended.String())
	}
	if newest := owner.Newest(o.releases); newest != nil {
		s.LastReleaseNumber = max(s.LastReleaseNumber, newest.Number)
	}
	if image := o.image(); a.target.ID != "" {
		s.Image, s.ImageID = image.Image, image.ImageID
	}
	switch {
	case o.deleting() || was.Phase.Ended(): // it is as it ended
	case p.Phase.Ended():
		o.end(&s, a, now)
	default:
		o.goOn(&s, a)
	}
	s.AccessURL = a.url
	for _, condition := range o.conditions(a, s) {
		s.Conditions = api.SetCondition(s.Conditions, condition, now)
	}
	return s
}

// end fills in what a lab came to.
func (o observed) end(s *api.LabStatus, a assessment, now time.Time) {
	p := a.plan
	s.Reason, s.Message, s.CompletedAt = p.Reason, p.Message, now.UTC()
	if !p.EndsAt.IsZero() {
		s.EndsAt = p.EndsAt
	}
	if p.Current == nil || p.Current.Status == nil {
		return
	}
	s.ExitCode = p.Current.Status.ExitCode
	if p.Phase == api.LabFailed {
		s.LastLog = p.Current.Status.LastLog
	}
}

// goOn fills in how a lab is that has not ended.
func (o observed) goOn(s *api.LabStatus, a assessment) {
	s.Reason, s.Message = o.why(a)
	s.EndsAt, s.LastFailure = a.plan.EndsAt, ""
	if s.Phase == api.LabProvisioning {
		s.LastFailure = o.lastFailure(a)
	}
	if t := a.plan.Current; t != nil && t.Desired == api.DesiredRunning && t.Placed {
		s.Task, s.Release, s.Node = t.ID, t.Release, t.Node
		if s.Phase == api.LabRunning && t.Status != nil {
			s.Container = t.Status.Container
		}
	}
}

// refuse returns the step of a lab that can't be reconciled: its conditions say why; see owner.UnworkableError.
func (o observed) refuse(cause error, now time.Time) (control.Step, error) {
	var unworkable *owner.UnworkableError
	if !errors.As(cause, &unworkable) {
		return control.Step{}, cause
	}
	status := o.before()
	status.ObservedGeneration, status.ObservedRevision = o.object.Value.Metadata.Generation, o.object.Modified
	status.Conditions = unworkable.Conditions(status.Conditions, "", now)
	return control.Step{Txn: records.NewTxn("lab.refuse"), Status: status, Stalled: unworkable}, nil
}
