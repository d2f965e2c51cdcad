package clusterjob

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
)

// The times of healing. The first time a resource is found missing or changed, it is applied again at once; each
// further time in a row waits twice as long. A resource that stays as it was applied for calm begins a new row.
const (
	firstHeal = 15 * time.Second
	lastHeal  = 30 * time.Minute
	calm      = 10 * time.Minute
)

// live returns how the cluster compares with what a job applied; nil if that is not known, or if nothing differs. Of a
// job that was in conflict only the loss of the resource counts, which ends the conflict: its fields are others'.
func (in Input) live(job *api.ClusterJob) *api.ClusterLive {
	if job == nil || job.Action != api.ActionApply || in.Report == nil || in.Report.Live == nil ||
		in.Report.Live.Key != job.Key {
		return nil
	}
	if live := in.Report.Live; live.Missing || live.Deleting || len(live.Differences) > 0 && in.applied(job) {
		return live
	}
	return nil
}

// heals reports whether what differs is applied again. An operation is done once: it never is.
func (in Input) heals() bool {
	policy := cmp.Or(in.Object.Metadata.Annotations[api.AnnotationDrift], in.Cluster.Spec.Drift)
	return in.Object.Kind != api.KindOperation && policy != api.DriftReport
}

// heal returns why a resource is to be applied again, and when; nil if it is not, or if it has to be gone first.
func (in Input) heal(job *api.ClusterJob) (why *api.ClusterHeal, at time.Time) {
	live := in.live(job)
	if live == nil || live.Deleting || !in.heals() {
		return nil, time.Time{}
	}
	why = &api.ClusterHeal{Count: 1, Reason: api.ReasonMissing, Message: in.found(*live)}
	if !live.Missing {
		applied := in.Report.Applied
		// another resource of the name is its maker's
		why.Reason, why.Force = api.ReasonDrifted, applied != nil && applied.UID == live.UID
	}
	if job.Heal != nil && live.At.Sub(job.CreatedAt) < calm+healWait(job.Heal.Count) {
		why.Count = job.Heal.Count + 1
	}
	return why, live.At.Add(healWait(why.Count - 1))
}

// healWait returns how long a resource is left as it is after it was applied again a number of times in a row.
func healWait(count int) time.Duration {
	if count == 0 {
		return 0
	}
	wait := firstHeal
	for n := 1; n < count && wait < lastHeal; n++ {
		wait *= 2
	}
	return min(wait, lastHeal)
}

// healed returns the job that applies the same again, if it is time for that; else when it will be.
func (in Input) healed(stored *api.ClusterJob) (job *api.ClusterJob, at time.Time, err error) {
	why, at := in.heal(stored)
	if why == nil || deadline.Left(at, in.Now, lastHeal) > 0 {
		return nil, at, nil
	}
	key := jobKey(in.Object, api.ActionApply) + healMark + strconv.FormatInt(in.Now.UnixNano(), 36)
	job, err = newJob(in.Object, api.ActionApply, key, 1, in.Now)
	if err == nil {
		job.Heal = why
	}
	return job, time.Time{}, err
}

// takesBack reports whether a new apply takes fields back that others have changed since the one before. It does where
// that one would have, or was to; where drift is only reported it does if a person has applied the object by force.
func (in Input) takesBack(before *api.ClusterJob) bool {
	if before == nil || before.Action != api.ActionApply || before.Object != in.Object.Ref() ||
		!in.heals() && !isForced(in.Object, *before) {
		return false
	}
	if live := in.live(before); live != nil {
		return len(live.Differences) > 0 && !live.Deleting && in.Report.Applied != nil && in.Report.Applied.UID == live.UID
	}
	return (before.Force || before.Heal != nil && before.Heal.Force) && !in.applied(before)
}

// isForced reports whether an object was applied by force since a job for it was made.
func isForced(object api.Object, job api.ClusterJob) bool {
	nonce := object.Metadata.Stamps[api.StampPull]
	return nonce != "" && !bytes.Contains(job.Payload, []byte(nonce))
}

// healMark is between the key of an object and what makes the key of each healing another one.
const healMark = "~"

// found describes an operator's finding, in a sentence. What was never applied was not deleted either, and what bears
// its name is another resource.
func (in Input) found(live api.ClusterLive) string {
	cluster, never := in.Cluster.Name, in.Report.AppliedJob == ""
	switch {
	case live.Missing && never:
		return fmt.Sprintf("cluster %s does not have it: it was never applied there", cluster)
	case live.Deleting && never:
		return fmt.Sprintf("another resource of its name is being deleted in cluster %s", cluster)
	case live.Missing:
		return fmt.Sprintf("cluster %s no longer has it: it was deleted there", cluster)
	case live.Deleting:
		return fmt.Sprintf("it is being deleted in cluster %s, and not by Tend", cluster)
	}
	var parts []string
	for _, d := range live.Differences {
		parts = append(parts, differenceText(d))
	}
	return fmt.Sprintf("changed in cluster %s: %s", cluster, strings.Join(parts, "; "))
}

// differenceText describes the difference in a field, and names the manager that set it.
func differenceText(d api.ClusterDifference) string {
	text := fmt.Sprintf("%s is %s, declared %s", d.Field, d.Live, d.Declared)
	if d.Live == "" {
		text = fmt.Sprintf("%s was removed, declared %s", d.Field, d.Declared)
	}
	if d.Manager != "" {
		text += fmt.Sprintf(" (field manager %s)", d.Manager)
	}
	return text
}

// doneOnce is the next step of an operation that is not applied again.
const doneOnce = "an operation is done once: apply one of another name"

// astray completes the condition of a job whose resource is not as it asks for: changed or gone since it was applied,
// or gone since another one of the name was in the way.
func (in Input) astray(c api.Condition, job *api.ClusterJob, live api.ClusterLive) api.Condition {
	c.Status, c.Reason, c.Message = api.ConditionFalse, api.ReasonDrifted, in.found(live)
	why, at := in.heal(job)
	switch {
	case live.Missing:
		c.Reason = api.ReasonMissing
	case live.Deleting:
		c.Reason = api.ReasonTerminating
	}
	ref := in.Object.Ref()
	switch {
	case in.Object.Kind == api.KindOperation && in.Report.AppliedJob == "" && live.Missing:
		c.Next = "nothing is in its way any more: tend apply --force"
	case in.Object.Kind == api.KindOperation && in.Report.AppliedJob == "":
		c.Next = "once the other one is gone: tend apply --force"
	case in.Object.Kind == api.KindOperation:
		c.Next = doneOnce
	case !in.heals():
		c.Next = fmt.Sprintf("to apply it again: tend apply --force; drift is only reported for %s %s/%s",
			ref.Kind, ref.Scope, ref.Name)
	case why == nil:
		c.Next = "it is applied again when it is gone"
	case why.Count > 1:
		times := "once"
		if why.Count > 2 {
			times = fmt.Sprintf("%d times", why.Count-1)
		}
		c.Message += "; it was applied again " + times
		c.Next = fmt.Sprintf("applied again at %s; %s", at.UTC().Format(time.RFC3339), stopThem(live))
	}
	return c
}

// stopThem returns the next step against a manager that changes a resource again and again.
func stopThem(live api.ClusterLive) string {
	var managers []string
	for _, d := range live.Differences {
		if d.Manager != "" && !slices.Contains(managers, d.Manager) {
			managers = append(managers, d.Manager)
		}
	}
	if len(managers) == 0 {
		return "find out who deletes it: the cluster's audit log says"
	}
	return fmt.Sprintf("have %s leave the fields alone, or leave them out of the manifest",
		strings.Join(managers, " and "))
}
