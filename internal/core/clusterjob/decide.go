package clusterjob

import (
	"cmp"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
)

// Known holds what is known of an object's cluster.
type Known struct {
	Name string
	// Declared: there is such a cluster. Registered: an operator registered for it.
	Declared, Registered bool
	Spec                 api.ClusterSpec
	// Connected is its condition of that type; nil if it has none yet.
	Connected *api.Condition
}

// Input is the input of Decide.
type Input struct {
	Object api.Object
	// Revision is the revision of the object's last write.
	Revision int64
	// Job is the job stored for the object, Report the operator's report on it. Each is nil if it doesn't exist.
	Job     *api.ClusterJob
	Report  *api.ClusterReport
	Cluster Known
	// Releases lists the object's kept releases, oldest first.
	Releases []api.Release
	Before   api.DeliveredStatus
	Now      time.Time
}

// Decision holds the writes to commit.
type Decision struct {
	// Job is the job to store; nil for no job.
	Job    *api.ClusterJob
	Status api.DeliveredStatus
	// Release is a release to store; nil if the cluster is to have the newest one. Surplus lists the ids of releases to
	// delete.
	Release *api.Release
	Surplus []string
	// Gone: the object is being deleted, and nothing is left to wait for.
	Gone bool
	// After is the time to decide again without a change; zero means never.
	After time.Time
	// Actions lists the changes that this decision sends to the cluster. Ahead lists the differences from the applied
	// state that it leaves in place.
	Actions, Ahead []api.PlannedAction
}

// Decide returns the job and the status that an object should have.
func Decide(in Input) (Decision, error) {
	if in.Report != nil && in.Report.UID != in.Object.Metadata.UID {
		in.Report = nil // it is of an earlier object of the name
	}
	if in.Job != nil && in.Job.UID != in.Object.Metadata.UID {
		in.Job = nil
	}
	d, err := in.decide()
	if err == nil && !d.Gone {
		err = in.releases(&d)
	}
	d.Actions, d.Ahead = in.planned(d)
	return d, err
}

func (in Input) decide() (d Decision, err error) {
	if in.Object.Metadata.Deleting() {
		if in.abandoned() || in.Job != nil && in.Job.Action == api.ActionDelete && succeeded(resultOf(in.Job, in.Report)) {
			d.Gone = true
			return d, nil
		}
		return in.finish(d, api.ActionDelete)
	}
	if !in.Cluster.Declared || !in.Cluster.Spec.Allows(in.Object.Scope) {
		if in.settled(api.ActionApply) {
			d.Job = in.Job // another one would run it again in a cluster that takes it later
		}
		d.Status = in.status(nil, time.Time{})
		return d, nil
	}
	return in.finish(d, api.ActionApply)
}

// abandoned reports whether an object that is being deleted waits for no cluster: it was asked not to, or no operator
// can have got it.
func (in Input) abandoned() bool {
	return in.Object.Metadata.Stamps[api.StampOrphan] != "" || !in.Cluster.Declared || !in.Cluster.Registered
}

// finish completes a decision with the job for an action and the status.
func (in Input) finish(d Decision, action string) (Decision, error) {
	job, retry, err := in.job(action)
	if err != nil {
		return d, err
	}
	d.Job, d.After = job, retry
	if d.After.IsZero() && !in.settled(action) && resultOf(job, in.Report) == nil {
		d.After = job.ExpiresAt
	}
	d.Status = in.status(job, retry)
	return d, nil
}

// job returns the stored job if it is still the one that is wanted, and when another is to follow it; else a new one.
func (in Input) job(action string) (job *api.ClusterJob, retry time.Time, err error) {
	key := jobKey(in.Object, action)
	stored := in.Job
	if in.settled(action) {
		return stored, time.Time{}, nil
	}
	if stored == nil || stored.Action != action || !asksFor(*stored, key) {
		if job, err = newJob(in.Object, action, in.keyOf(key), 1, in.Now); err == nil {
			job.Force = action == api.ActionApply && in.takesBack(stored)
		}
		return job, time.Time{}, err
	}
	if job, retry, err = in.healed(stored); job != nil || !retry.IsZero() || err != nil {
		return cmp.Or(job, stored), retry, err
	}
	again := over(*stored, in.Now)
	if result := resultOf(stored, in.Report); result != nil {
		retry = retryAt(*stored, *result)
		again = !retry.IsZero() && deadline.Left(retry, in.Now, lastRetry) == 0
	}
	if !again {
		return stored, retry, nil
	}
	job, err = newJob(in.Object, action, stored.Key, stored.Attempt+1, in.Now)
	if err == nil {
		job.Heal, job.Force = stored.Heal, stored.Force
	}
	return job, time.Time{}, err
}

// settled reports whether no other job with an action follows: an operation that has ended may have been cleaned up in
// the cluster, where another apply would run it again.
func (in Input) settled(action string) bool { return action == api.ActionApply && in.ended() != "" }
