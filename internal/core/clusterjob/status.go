package clusterjob

import (
	"cmp"
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// ConditionDelivered reports whether the object in the cluster matches its declaration.
const ConditionDelivered = "Delivered"

// own are the conditions that Tend sets itself, in their order; those of other types are the cluster's.
var own = []string{api.ConditionReady, api.ConditionProgressing, api.ConditionDegraded, ConditionDelivered}

// status returns the status of an object with a job; nil if it has none.
func (in Input) status(job *api.ClusterJob, retry time.Time) api.DeliveredStatus {
	next := api.DeliveredStatus{ObservedRevision: in.Revision, Delivery: in.delivery(job, retry)}
	if in.Report != nil {
		next.ObservedGeneration, next.Endpoints = in.Report.Observed, in.Report.Endpoints
		next.Objects, next.ObjectCount, next.Health = in.objects(job)
		next.Revisions = in.Report.Revisions
	}
	if live := in.live(job); live != nil {
		next.Differences = live.Differences
	}
	delivered := in.delivered(job)
	ready := in.ready(job, delivered)
	degraded := in.degraded(job, delivered)
	progressing := in.progressing(job, delivered, ready, degraded)
	next.Phase = in.phase(delivered, job)
	for _, c := range []api.Condition{ready, progressing, degraded, delivered} {
		next.Conditions = append(next.Conditions, kept(in.Before.Conditions, c, in.Now))
	}
	next.Conditions = append(next.Conditions, in.others()...)
	return next
}

// degraded returns what is wrong: with the delivery, else what the cluster says. What the cluster can't do before a
// person changes something is wrong with an instance; an operation waits for it.
func (in Input) degraded(job *api.ClusterJob, delivered api.Condition) api.Condition {
	c := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	switch {
	case delivered.Status == api.ConditionFalse:
		c.Status, c.Reason, c.Message, c.Next = api.ConditionTrue, delivered.Reason, delivered.Message, delivered.Next
	case !in.applied(job):
		if heal := healOf(job); heal != nil && heal.Count > 1 {
			c.Status, c.Reason, c.Message = api.ConditionTrue, heal.Reason,
				fmt.Sprintf("%s; it is applied again for the %d. time", heal.Message, heal.Count)
		}
	case in.Object.Kind == api.KindOperation:
		return in.failing(c)
	default:
		cause := in.reported(reportedBlocked, api.ConditionTrue)
		if cause == nil {
			cause = in.reported(api.ConditionDegraded, api.ConditionTrue)
		}
		if cause != nil {
			c.Status, c.Reason, c.Message = api.ConditionTrue, cause.Reason, cause.Message
		}
	}
	return c
}

// progressing returns what is under way: the delivery, or what the cluster does.
func (in Input) progressing(job *api.ClusterJob, delivered, ready, degraded api.Condition) api.Condition {
	c := api.Condition{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: api.ReasonComplete}
	begin := func(reason, message string) { c.Status, c.Reason, c.Message = api.ConditionTrue, reason, message }
	working := in.reported(reportedReconciling, api.ConditionTrue)
	switch {
	case degraded.Status == api.ConditionTrue:
	case delivered.Status == api.ConditionUnknown:
		begin(delivered.Reason, delivered.Message)
	case ready.Status == api.ConditionTrue || !in.applied(job):
	case in.ended() != "":
	case in.Object.Kind == api.KindOperation:
		begin(in.step(ready))
	case working != nil:
		begin(working.Reason, cmp.Or(working.Message, ready.Message))
	default:
		begin(ready.Reason, ready.Message)
	}
	return c
}

// The conditions of an instance in the cluster that Tend reads besides Ready and Degraded.
const (
	reportedBlocked     = "Blocked"
	reportedReconciling = "Reconciling"
	reportedSuspended   = "Suspended"
)

// waitsForWindow is the reason of an instance that is suspended until its maintenance window opens.
const waitsForWindow = "MaintenanceWindow"

// Paused returns the condition of an instance that is left as it is until a person changes that; nil of any other.
func Paused(status api.DeliveredStatus) *api.Condition {
	c := api.FindCondition(status.Conditions, reportedSuspended)
	if c == nil || c.Status != api.ConditionTrue || c.Reason == waitsForWindow {
		return nil
	}
	return c
}

// applied reports whether the cluster has what a job applies. Only then do the conditions that it reported speak of it.
func (in Input) applied(job *api.ClusterJob) bool {
	if job == nil || job.Action != api.ActionApply || in.Report == nil {
		return false
	}
	return in.Report.AppliedJob == job.ID || succeeded(resultOf(job, in.Report))
}

func healOf(job *api.ClusterJob) *api.ClusterHeal {
	if job == nil {
		return nil
	}
	return job.Heal
}

// kept returns a condition with the time since which it has its status.
func kept(before []api.Condition, c api.Condition, now time.Time) api.Condition {
	var was []api.Condition
	if old := api.FindCondition(before, c.Type); old != nil {
		was = append(was, *old)
	}
	return api.SetCondition(was, c, now.UTC())[0]
}

// ready returns whether the declared generation is ready: of an operation, whether it has succeeded. A report counts if
// it is about the content of the present job, and the cluster has that content.
func (in Input) ready(job *api.ClusterJob, delivered api.Condition) api.Condition {
	c := api.Condition{Type: api.ConditionReady, Status: api.ConditionUnknown, Reason: delivered.Reason,
		Message: delivered.Message}
	if delivered.Status == api.ConditionFalse {
		c.Status = api.ConditionFalse
	}
	if heal := healOf(job); heal != nil && delivered.Status != api.ConditionTrue && !in.applied(job) {
		c.Status, c.Reason, c.Message = api.ConditionFalse, heal.Reason, heal.Message
	}
	if in.Object.Metadata.Deleting() || delivered.Status != api.ConditionTrue || !in.applied(job) {
		return c
	}
	c.Reason, c.Message = api.ReasonNotReported, "the cluster has not reported yet how it is"
	if in.Object.Kind == api.KindOperation {
		return in.success(c)
	}
	for _, reported := range in.Report.Conditions {
		if reported.Type == api.ConditionReady {
			c.Status, c.Reason, c.Message = reported.Status, reported.Reason, reported.Message
		}
	}
	if silent := in.silent(); silent != nil {
		c.Message = fmt.Sprintf("%s; it was %s/%s then", silent.Message, c.Status, c.Reason)
		c.Status, c.Reason = api.ConditionUnknown, silent.Reason
	}
	return c
}

// silent returns the condition of a cluster that nothing was heard of lately: what it said last may not be true any
// more.
func (in Input) silent() *api.Condition {
	if c := in.Cluster.Connected; c != nil && c.Status == api.ConditionFalse && c.Reason == api.ReasonNoRecentRoundTrip {
		return c
	}
	return nil
}

// reported returns a condition of the resource with a status.
func (in Input) reported(conditionType string, status api.ConditionStatus) *api.ReportedCondition {
	if in.Report == nil {
		return nil
	}
	for i, c := range in.Report.Conditions {
		if c.Type == conditionType && c.Status == status {
			return &in.Report.Conditions[i]
		}
	}
	return nil
}

// others returns the conditions of the resource that Tend has none of its own for. If the object was refused and never
// applied, they are another resource's.
func (in Input) others() (out []api.Condition) {
	if in.Report == nil || in.Report.AppliedJob == "" && in.Report.Result != nil {
		return nil
	}
	for _, c := range in.Report.Conditions {
		mine := false
		for _, t := range own {
			mine = mine || t == c.Type
		}
		if !mine {
			out = append(out, c.Condition)
		}
	}
	return out
}

// phase returns one word for the state of the object.
func (in Input) phase(delivered api.Condition, job *api.ClusterJob) string {
	ended := in.ended()
	switch {
	case job == nil && ended == "":
		return api.DeliveredPending
	case job != nil && job.Action == api.ActionDelete:
		return api.DeliveredDeleting
	case ended != "":
		return ended
	case delivered.Reason == api.ReasonFieldConflict:
		return api.DeliveredConflict
	case delivered.Reason == api.ReasonMissing || delivered.Reason == api.ReasonTerminating:
		return api.DeliveredMissing
	case delivered.Reason == api.ReasonDrifted:
		return api.DeliveredDrifted
	case in.Object.Kind == api.KindOperation && in.applied(job) && in.reported(operationRunning, api.ConditionTrue) != nil:
		return api.OperationRunning
	case delivered.Status == api.ConditionFalse:
		return api.DeliveredFailed
	case delivered.Reason == api.ReasonWaitingForCluster:
		return api.DeliveredPending
	case delivered.Status == api.ConditionUnknown:
		return api.DeliveredDelivering
	case in.Object.Kind == api.KindOperation:
		return api.DeliveredPending
	}
	return api.DeliveredApplied
}
