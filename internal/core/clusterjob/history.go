package clusterjob

import (
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// helmDeployed is Helm's status of the revision that runs.
const helmDeployed = "deployed"

// history records the revisions of a Helm release, and which of them a resource became. It reports whether that was not
// known. A list that isn't in Helm's order ends where it leaves it, and a revision that isn't listed is not taken.
func (r *report) history(has pull.History, of api.ClusterResource, now time.Time) bool {
	var revisions []api.HelmRevision
	for _, one := range has.Revisions[:min(len(has.Revisions), pull.MaxRevisions)] {
		if n := len(revisions); one.Revision < 1 || n > 0 && one.Revision >= revisions[n-1].Revision {
			break
		}
		revisions = append(revisions, api.HelmRevision{
			Revision: one.Revision, ChartVersion: short(one.ChartVersion, maxWord), Status: short(one.Status, maxWord),
			Digest: short(one.Digest, maxWord), FirstDeployed: past(one.FirstDeployed, now),
			LastDeployed: past(one.LastDeployed, now),
		})
	}
	before := r.ClusterReport
	r.Revisions, r.Revision, r.RevisionOf = revisions, 0, nil
	if revisionIn(revisions, has.Current) != nil {
		r.Revision = has.Current
		r.RevisionOf = &api.ClusterResource{UID: short(of.UID, maxWord), Generation: of.Generation}
	}
	return !slices.Equal(revisions, before.Revisions) || r.Revision != before.Revision ||
		valueOf(r.RevisionOf) != valueOf(before.RevisionOf)
}

// past returns a time of a cluster; zero if it has none, or can't be one of the past.
func past(reported, now time.Time) time.Time {
	if !at(reported, now).Equal(reported) {
		return time.Time{}
	}
	return reported.UTC()
}

// revisionIn returns the revision of a number; nil if there is none.
func revisionIn(revisions []api.HelmRevision, number int64) *api.HelmRevision {
	i := slices.IndexFunc(revisions, func(r api.HelmRevision) bool { return r.Revision == number })
	if i < 0 {
		return nil
	}
	return &revisions[i]
}

// revised returns the outcome of the newest release with the revision of Helm that it became. The cluster has said it
// of the very resource that the release's job applied. A release that is good became one that was deployed: what fails
// afterwards, such as with other values from a Secret, is not the one that was good.
func (in Input) revised(outcome api.ReleaseOutcome, newest api.Release) api.ReleaseOutcome {
	job := in.Job
	if job == nil || job.Generation < newest.Generation || !in.applied(job) {
		return outcome
	}
	applied, of := in.Report.Applied, in.Report.RevisionOf
	if applied == nil || of == nil || of.UID != applied.UID || of.Generation != applied.Generation {
		return outcome
	}
	became := revisionIn(in.Report.Revisions, in.Report.Revision)
	if became == nil || outcome.Good && became.Status != helmDeployed {
		return outcome
	}
	outcome.HelmRevision, outcome.HelmChart = became.Revision, became.ChartVersion
	return outcome
}
