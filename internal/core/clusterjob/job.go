package clusterjob

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/deadline"
)

// The times of jobs.
const (
	// Lease is the time for which a job is not sent again after it was acknowledged, or after the operator's last word
	// about it.
	Lease = 10 * time.Minute
	// Life is the validity of a job. One that expires without a result is followed by another.
	Life = 24 * time.Hour
	// firstRetry is the time between a failure and the next attempt; it doubles up to lastRetry.
	firstRetry = 30 * time.Second
	lastRetry  = 30 * time.Minute
)

// newJob returns a job for an object.
func newJob(object api.Object, action, key string, attempt int, now time.Time) (*api.ClusterJob, error) {
	job := &api.ClusterJob{
		Object: object.Ref(), UID: object.Metadata.UID, Generation: object.Metadata.Generation, Action: action,
		Key: key, Attempt: attempt,
		CreatedAt: now.UTC(), ExpiresAt: now.Add(Life).UTC(),
	}
	ref := object.Ref()
	job.ID = fmt.Sprintf("%s.%s.%s.%s", ref.Kind, ref.Scope, ref.Name,
		hash(fmt.Sprint(key, " ", attempt, " ", now.UnixNano()), 16))
	var err error
	if action == api.ActionDelete {
		job.Payload, err = json.Marshal(ResourceOf(ref))
	} else {
		job.Payload, err = Payload(object)
	}
	return job, err
}

// ObjectOf returns the object that a job's id is of; false if it isn't the id of a job.
func ObjectOf(id string) (api.Ref, bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 4 {
		return api.Ref{}, false
	}
	ref := api.Ref{Kind: api.Kind(parts[0]), Scope: parts[1], Name: parts[2]}
	return ref, ref.Kind.Delivered() && ref.Scope != "" && ref.Name != ""
}

// Due reports whether a job is to be sent, and otherwise when it may be; never if that is zero.
func Due(job api.ClusterJob, report *api.ClusterReport, now time.Time) (due bool, at time.Time) {
	if over(job, now) || isLate(job, report) {
		return false, time.Time{}
	}
	if report == nil || report.UID != job.UID || report.Job != job.ID {
		return true, now
	}
	if report.Result != nil {
		return false, time.Time{}
	}
	at = report.RenewedAt.Add(Lease)
	return deadline.Left(at, now, Lease) == 0, at
}

// over reports whether a job is no longer valid.
func over(job api.ClusterJob, now time.Time) bool {
	return deadline.Left(job.ExpiresAt, now, Life) == 0
}

// Unfinished reports whether a job was acknowledged and has no result: an operator that has just started may have left
// it in the middle.
func Unfinished(job api.ClusterJob, report *api.ClusterReport, now time.Time) bool {
	return !over(job, now) && !isLate(job, report) && report != nil && report.UID == job.UID &&
		report.Job == job.ID && report.Result == nil
}

// isLate reports whether a job changes an operation that has ended since: it would run again if it was cleaned up.
func isLate(job api.ClusterJob, report *api.ClusterReport) bool {
	return job.Action == api.ActionApply && report != nil && report.UID == job.UID && report.AppliedJob != job.ID &&
		Input{Object: api.Object{Kind: job.Object.Kind}, Report: report}.ended() != ""
}

// Delivered reports whether the cluster is compared with a job: the job has applied what it asks for, or was in
// conflict, which ends when the resource is gone.
func Delivered(job api.ClusterJob, report *api.ClusterReport) bool {
	in := Input{Report: report}
	result := resultOf(&job, report)
	return report != nil && report.UID == job.UID &&
		(in.applied(&job) || result != nil && result.Outcome == pull.OutcomeConflict && job.Action == api.ActionApply)
}

// retryAt returns when a job that ended is to be followed by another for the same thing; zero if never.
func retryAt(job api.ClusterJob, result api.ClusterResult) time.Time {
	switch {
	case result.Outcome == pull.OutcomeFailed && !result.Applied:
		wait := firstRetry
		for n := 1; n < job.Attempt && wait < lastRetry; n++ {
			wait *= 2
		}
		return result.At.Add(min(wait, lastRetry))
	case expired(result):
		return result.At
	}
	return time.Time{}
}

// expired reports whether a job came too late for its operator.
func expired(result api.ClusterResult) bool {
	return result.Outcome == pull.OutcomeNoop && result.Error == pull.ErrorExpired
}

// succeeded reports whether the job did what it was asked for. An unhealthy application doesn't fail the job that
// applied it.
func succeeded(result *api.ClusterResult) bool {
	return result != nil && (result.Applied || result.Outcome == pull.OutcomeSucceeded ||
		result.Outcome == pull.OutcomeNoop && !expired(*result))
}

// resultOf returns the result of a job; nil if none is known.
func resultOf(job *api.ClusterJob, report *api.ClusterReport) *api.ClusterResult {
	if job == nil || report == nil || report.UID != job.UID || report.Job != job.ID {
		return nil
	}
	return report.Result
}
