package job

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/owner"
)

// nextStatus returns the object's status after a reconcile; runs are its runs as the reconcile leaves them.
func (o observed) nextStatus(a assessment, runs []api.Run, now time.Time) api.JobStatus {
	s := api.JobStatus{}
	if o.status.Value != nil {
		s = *o.status.Value
	}
	s.ObservedGeneration, s.ObservedRevision = o.object.Value.Metadata.Generation, o.object.Modified
	s.Active, s.Succeeded, s.Failed = a.plan.Active, a.plan.Succeeded, a.plan.Failed
	if a.target.ID != "" {
		image := o.image()
		s.Release, s.Image, s.ImageID = a.target.ID, image.Image, image.ImageID
	}
	if newest := owner.Newest(o.releases); newest != nil {
		s.LastReleaseNumber = max(s.LastReleaseNumber, newest.Number)
	}
	for _, run := range runs {
		s.LastRun, s.LastState, s.LastExitCode = run.ID, run.State, run.ExitCode
		if a.target.Fresh != nil && run.Release == a.target.ID {
			s.LastReleaseNumber = max(s.LastReleaseNumber, a.target.Fresh.Number)
		}
	}
	line := a.plan.Timeline
	s.ScheduleHash, s.LastScheduled = line.ScheduleHash, line.Last.UTC()
	s.LastAhead, s.Skipped = line.Ahead.UTC(), line.Skipped
	s.RestoredAt, s.RestoredOver, s.RestoredEarlier = line.Over.UTC(), line.Unknown, line.Earlier
	s.Missed, s.LastMissed, s.MissedReason = line.Missed, line.LastMissed, line.Why
	s.NextRun = a.plan.NextRun
	for _, condition := range o.conditions(a, runs) {
		s.Conditions = api.SetCondition(s.Conditions, condition, now)
	}
	return s
}
