package clusterjob

import (
	"cmp"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/change"
)

// The bounds of what is kept of an operator's answers.
const (
	maxConditions = 32
	maxEndpoints  = 16
	maxSeen       = 64
	maxText       = 4096
	// maxDifferences is the number of differing fields that are kept: enough to see who changed what.
	maxDifferences = 16
	maxWord        = 128
)

// report is an api.ClusterReport that answers are added to.
type report struct{ api.ClusterReport }

// begin returns the report for an object: a copy of the one that is stored, or a new one if that is of another object.
func begin(stored *api.ClusterReport, uid string) report {
	if stored == nil || stored.UID != uid {
		return report{api.ClusterReport{UID: uid}}
	}
	next := report{*stored}
	next.Conditions, next.Endpoints, next.Seen = slices.Clone(next.Conditions), slices.Clone(next.Endpoints),
		slices.Clone(next.Seen)
	return next
}

// Verdict is the answer to an operator.
type Verdict int

// The values of Verdict.
const (
	// Taken: the report is to be stored.
	Taken Verdict = iota
	// Repeated: it is stored like that already.
	Repeated
	// Closed: the job has a result, or another has taken its place.
	Closed
	// Unacknowledged: the job was not acknowledged.
	Unacknowledged
)

// Acknowledge records that an operator has taken a job. Taking it again renews its lease.
func Acknowledge(stored *api.ClusterReport, job api.ClusterJob, now time.Time) (api.ClusterReport, Verdict) {
	next := begin(stored, job.UID)
	if next.Job == job.ID && next.Result != nil {
		return next.ClusterReport, Closed
	}
	if next.Job != job.ID {
		next.Job, next.AckedAt, next.Message, next.Result = job.ID, now.UTC(), "", nil
	}
	next.RenewedAt = now.UTC()
	return next.ClusterReport, Taken
}

// TakeStatus records how far an operator is with a job.
func TakeStatus(
	stored *api.ClusterReport, job api.ClusterJob, status pull.Status, now time.Time,
) (api.ClusterReport, Verdict) {
	next := begin(stored, job.UID)
	switch {
	case next.Job != job.ID:
		return next.ClusterReport, Unacknowledged
	case next.Result != nil:
		return next.ClusterReport, Closed
	}
	next.RenewedAt, next.Message = now.UTC(), short(status.Message, maxText)
	if job.Action == api.ActionApply && (status.AppliedRef != nil || len(status.Conditions) > 0) {
		if next.AppliedJob != job.ID { // an earlier report doesn't answer this apply, even for the same generation
			next.AppliedAt, next.Conditions = at(status.Timestamp, now).UTC(), nil
		}
		next.applied(job, status.AppliedRef)
	}
	source := api.ClusterResource{}
	if next.Applied != nil {
		source = *next.Applied
	}
	for _, c := range status.Conditions {
		next.condition(c, source, at(status.Timestamp, now))
	}
	return next.ClusterReport, Taken
}

// TakeResult records what came of a job.
func TakeResult(
	stored *api.ClusterReport, job api.ClusterJob, result pull.Result, now time.Time,
) (api.ClusterReport, Verdict) {
	next := begin(stored, job.UID)
	switch {
	case next.Job != job.ID:
		return next.ClusterReport, Unacknowledged
	case next.Result != nil:
		return next.ClusterReport, Closed
	}
	next.RenewedAt = now.UTC()
	next.Result = &api.ClusterResult{Outcome: result.Outcome, Error: short(result.Error, maxText), At: now.UTC()}
	if job.Action == api.ActionApply {
		next.Result.Applied = result.Outcome == pull.OutcomeFailed && result.AppliedRef != nil
		if succeeded(next.Result) {
			if next.AppliedJob != job.ID { // an operator that sends no status: what came since it took the job is its answer
				next.AppliedAt = time.Time{}
				next.Conditions = slices.DeleteFunc(next.Conditions, func(c api.ReportedCondition) bool { return c.Job != job.ID })
			}
			next.applied(job, result.AppliedRef)
		}
	}
	return next.ClusterReport, Taken
}

// applied records that the cluster has a job's generation. Conditions of older generations of the resource are dropped.
func (r *report) applied(job api.ClusterJob, resource *api.ClusterResource) {
	r.Observed, r.AppliedJob = max(r.Observed, job.Generation), job.ID
	if resource == nil || resource.Name == "" {
		return
	}
	copied := *resource
	r.Applied = &copied
	r.Conditions = slices.DeleteFunc(r.Conditions,
		func(c api.ReportedCondition) bool { return r.isStale(c.UID, c.Generation) })
	if of := r.HealthOf; of != nil && r.isStale(of.UID, of.Generation) {
		r.Objects, r.Health, r.HealthOf = withoutHealth(r.Objects), "", nil
	}
	if of := r.RevisionOf; of != nil && r.isStale(of.UID, of.Generation) {
		r.Revision, r.RevisionOf = 0, nil
	}
}

// isStale reports whether something is about another resource of the name, or about a generation before the one that
// was applied.
func (r *report) isStale(uid string, generation int64) bool {
	if r.Applied == nil {
		return false
	}
	another := uid != "" && r.Applied.UID != "" && uid != r.Applied.UID
	return another || generation > 0 && generation < r.Applied.Generation
}

// condition records a condition, unless a newer generation or a later report of it is known.
func (r *report) condition(c pull.Condition, source api.ClusterResource, reported time.Time) bool {
	next := api.ReportedCondition{
		Condition: api.Condition{
			Type: short(c.Type, maxWord), Status: c.Status, Reason: short(c.Reason, maxWord), Message: short(c.Message, maxText),
			LastTransitionTime: at(c.LastTransitionTime, reported).UTC(),
		},
		UID: source.UID, Generation: cmp.Or(c.ObservedGeneration, source.Generation), At: reported.UTC(), Job: r.Job,
	}
	if c.Type == "" || r.isStale(next.UID, next.Generation) || next.At.Before(r.AppliedAt) {
		return false
	}
	i := slices.IndexFunc(r.Conditions, func(old api.ReportedCondition) bool { return old.Type == next.Type })
	if i < 0 {
		if len(r.Conditions) < maxConditions {
			r.Conditions = append(r.Conditions, next)
		}
		return true
	}
	old := r.Conditions[i]
	sameResource := old.UID == next.UID
	if sameResource && next.Generation < old.Generation ||
		(!sameResource || next.Generation == old.Generation) && next.At.Before(old.At) {
		return false
	}
	r.Conditions[i] = next
	return true
}

// TakeEvent records what an event says of a resource. An event that was taken before, and one that is older than what
// is known, change nothing.
func TakeEvent(stored *api.ClusterReport, uid string, event pull.Event, now time.Time) (api.ClusterReport, Verdict) {
	next := begin(stored, uid)
	// The time is part of it: some operators give a condition that goes and returns one key.
	seen := hash(event.EventKey+"\n"+event.Timestamp.UTC().Format(time.RFC3339Nano), 16)
	if event.EventKey != "" && slices.Contains(next.Seen, seen) {
		return next.ClusterReport, Repeated
	}
	changed := false
	for _, c := range event.Conditions {
		changed = next.condition(c, event.ResourceRef, at(event.Timestamp, now)) || changed
	}
	if len(event.Endpoints) > 0 && !next.isStale(event.ResourceRef.UID, event.ResourceRef.Generation) {
		next.Endpoints = nil
		for _, e := range event.Endpoints[:min(len(event.Endpoints), maxEndpoints)] {
			next.Endpoints = append(next.Endpoints,
				api.ClusterEndpoint{Name: short(e.Name, maxWord), URL: short(e.URL, maxText)})
		}
		changed = true
	}
	if event.Inventory != nil && !next.isStale(event.ResourceRef.UID, event.ResourceRef.Generation) {
		changed = next.inventory(*event.Inventory, event.ResourceRef) || changed
	}
	if event.History != nil && !next.isStale(event.ResourceRef.UID, event.ResourceRef.Generation) {
		changed = next.history(*event.History, event.ResourceRef, now) || changed
	}
	changed = next.compared(event, at(event.Timestamp, now)) || changed
	if !changed {
		return next.ClusterReport, Repeated
	}
	if event.EventKey != "" {
		next.Seen = append(next.Seen, seen)
		next.Seen = next.Seen[max(len(next.Seen)-maxSeen, 0):]
	}
	return next.ClusterReport, Taken
}

// compared records how the resource compares with what was applied, unless that is known, or something later is.
func (r *report) compared(event pull.Event, reported time.Time) bool {
	if event.State == nil || r.Live != nil && reported.Before(r.Live.At) {
		return false
	}
	next := api.ClusterLive{
		Key: short(event.State.Key, maxText), Missing: event.State.Missing, Deleting: event.State.Deleting,
		UID: short(event.ResourceRef.UID, maxWord), At: reported.UTC(),
	}
	for _, d := range event.State.Differences[:min(len(event.State.Differences), maxDifferences)] {
		next.Differences = append(next.Differences, api.ClusterDifference{
			Field: short(d.Field, maxText), Declared: short(d.Declared, maxWord), Live: short(d.Live, maxWord),
			Manager: short(d.Manager, maxWord),
		})
	}
	if old := r.Live; old != nil && old.Key == next.Key && old.Missing == next.Missing && old.Deleting == next.Deleting &&
		old.UID == next.UID &&
		slices.Equal(old.Differences, next.Differences) {
		return false
	}
	r.Live = &next
	return true
}

// at returns when something was reported: its own time, unless it has none, is in the future, or before the year 1, a
// time which JSON can't hold.
func at(reported, now time.Time) time.Time {
	if reported.IsZero() || reported.After(now) || reported.UTC().Year() < 1 {
		return now
	}
	return reported
}

// short returns the beginning of a text of an operator.
func short(text string, most int) string { return change.Cut(text, most) }
