package clusterjob

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"tend.dev/tend/api"
)

// maxCause is the length of the cause of a failure that is kept with a release, in bytes.
const maxCause = 1024

// releases completes a decision with the releases of the object: the one to store, those to delete, and how each was
// found to be.
//
// A release is made in the commit that stores its first job, so each has what the cluster was given. It lacks suspend,
// as a deployment's release lacks replicas.
func (in Input) releases(d *Decision) error {
	d.Status.Release, d.Status.Outcomes = in.Before.Release, in.outcomes()
	if !in.Object.Kind.HasVersions() || d.Job == nil || d.Job.Action != api.ActionApply {
		return nil
	}
	spec, err := Snapshot(in.Object.Spec)
	if err != nil {
		return fmt.Errorf("record what %s is: %w", in.Object.Ref(), err)
	}
	current := in.newest()
	if sum := hash(string(spec), 64); current == nil || current.SpecHash != sum {
		current = in.release(spec, sum)
		d.Release = current
		if d.Job == in.Job { // an earlier version of Tend made it, and no release
			made := in
			made.Releases = append(made.Releases, *current)
			d.Status.Outcomes = made.outcomes()
		}
	}
	d.Status.Release = current.ID
	d.Surplus = in.surplus(*d)
	for _, id := range d.Surplus {
		delete(d.Status.Outcomes, id)
	}
	return nil
}

// Snapshot returns a spec as a release keeps it: without suspend, and with its keys in order.
func Snapshot(spec json.RawMessage) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.UseNumber() // a number of any size keeps its text
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	delete(fields, "suspend")
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	return json.Marshal(fields)
}

// release returns the next release, with a spec.
func (in Input) release(spec json.RawMessage, sum string) *api.Release {
	object, number, reason, from := in.Object, 1, "first release", ""
	if newest := in.newest(); newest != nil {
		number, reason = newest.Number+1, "spec changed"
	}
	for _, earlier := range in.Releases {
		if earlier.ID == object.Metadata.Stamps[api.StampRollback] && earlier.SpecHash == sum {
			from, reason = earlier.ID, "rollback to "+earlier.ID
		}
	}
	return &api.Release{
		ID: fmt.Sprintf("v%d", number), Number: number, Kind: object.Kind, Scope: object.Scope, Name: object.Name,
		Spec: spec, SpecHash: sum, HashVersion: 1, RolledBackFrom: from, Generation: object.Metadata.Generation,
		Reason: reason, Change: object.Metadata.Change, CreatedAt: in.Now.UTC(),
	}
}

// newest returns the newest kept release; nil if there is none.
func (in Input) newest() *api.Release {
	if len(in.Releases) == 0 {
		return nil
	}
	return &in.Releases[len(in.Releases)-1]
}

// surplus returns the releases beyond those that are kept, oldest first. The last good one and the one that a rollback
// names stay.
func (in Input) surplus(d Decision) (out []string) {
	count := len(in.Releases) - api.DefaultKeepReleases
	if d.Release != nil {
		count++
	}
	good := ""
	for _, r := range in.Releases {
		if d.Status.Outcomes[r.ID].Good {
			good = r.ID
		}
	}
	for _, r := range in.Releases[:max(min(count, len(in.Releases)), 0)] {
		if r.ID != d.Status.Release && r.ID != good && r.ID != in.Object.Metadata.Stamps[api.StampRollback] {
			out = append(out, r.ID)
		}
	}
	return out
}

// outcomes returns what is known of the kept releases, with what the cluster says of the newest one by now.
func (in Input) outcomes() map[string]api.ReleaseOutcome {
	next := map[string]api.ReleaseOutcome{}
	for _, r := range in.Releases {
		if outcome, known := in.Before.Outcomes[r.ID]; known {
			next[r.ID] = outcome
		}
	}
	if newest := in.newest(); newest != nil && !next[newest.ID].Good {
		if answer := in.answer(*newest); answer != nil {
			next[newest.ID] = *answer
		}
	}
	if newest := in.newest(); newest != nil {
		if outcome, known := next[newest.ID]; known {
			next[newest.ID] = in.revised(outcome, *newest)
		}
	}
	if len(next) == 0 {
		return nil
	}
	return next
}

// answer returns what the cluster says of the newest release; nil until the cluster has answered about that very one.
// The stored job was sent for it, also if the object has changed since. What was found changed or missing afterwards
// says nothing of the release, nor does a silent cluster.
func (in Input) answer(newest api.Release) *api.ReleaseOutcome {
	job := in.Job
	if job == nil || job.Action != api.ActionApply || job.Generation < newest.Generation || in.live(job) != nil ||
		healOf(job) != nil && !in.applied(job) {
		return nil
	}
	delivered := in.delivered(job)
	if in.ready(job, delivered).Status == api.ConditionTrue {
		return &api.ReleaseOutcome{Good: true}
	}
	if c := in.degraded(job, delivered); c.Status == api.ConditionTrue && c.Reason != api.ReasonDrifted {
		return &api.ReleaseOutcome{Reason: c.Reason, Message: short(c.Message, maxCause)}
	}
	return nil
}
