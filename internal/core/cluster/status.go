package cluster

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// ConditionDelivered says whether the cluster has the object as it is declared.
const ConditionDelivered = "Delivered"

// own are the conditions that Tend sets itself, in their order; those of other types are the cluster's.
var own = []string{api.ConditionReady, api.ConditionProgressing, api.ConditionDegraded, ConditionDelivered}

// status returns the status of an object with a job; nil if it has none.
func (in Input) status(job *api.ClusterJob, retry time.Time) api.DeliveredStatus {
	next := api.DeliveredStatus{ObservedRevision: in.Revision, Delivery: in.delivery(job, retry)}
	if in.Report != nil {
		next.ObservedGeneration, next.Endpoints = in.Report.Observed, in.Report.Endpoints
		next.Objects, next.ObjectCount = in.Report.Objects, in.Report.ObjectCount
	}
	delivered := in.delivered(job)
	ready := in.ready(delivered)
	progressing := api.Condition{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: api.ReasonComplete}
	degraded := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	switch {
	case delivered.Status == api.ConditionFalse:
		degraded.Status, degraded.Reason, degraded.Message, degraded.Next = api.ConditionTrue, delivered.Reason, delivered.Message, delivered.Next
	case delivered.Status == api.ConditionUnknown:
		progressing.Status, progressing.Reason, progressing.Message = api.ConditionTrue, delivered.Reason, delivered.Message
	case in.reported(api.ConditionDegraded, api.ConditionTrue) != nil:
		degraded = in.troubled(*in.reported(api.ConditionDegraded, api.ConditionTrue))
	case in.Object.Kind == api.KindOperation && in.reported(operationFailed, api.ConditionTrue) != nil:
		degraded = in.troubled(*in.reported(operationFailed, api.ConditionTrue))
	case in.Object.Kind == api.KindOperation && ready.Status != api.ConditionTrue:
		progressing.Status, progressing.Reason, progressing.Message = api.ConditionTrue, ready.Reason, ready.Message
	}
	next.Phase = in.phase(delivered, job)
	for _, c := range []api.Condition{ready, progressing, degraded, delivered} {
		next.Conditions = append(next.Conditions, kept(in.Before.Conditions, c, in.Now))
	}
	next.Conditions = append(next.Conditions, in.others()...)
	return next
}

// kept returns a condition with the time since which it has its status.
func kept(before []api.Condition, c api.Condition, now time.Time) api.Condition {
	var was []api.Condition
	if old := api.FindCondition(before, c.Type); old != nil {
		was = append(was, *old)
	}
	return api.SetCondition(was, c, now.UTC())[0]
}

func (in Input) delivery(job *api.ClusterJob, retry time.Time) *api.DeliveryStatus {
	if job == nil {
		return nil
	}
	d := &api.DeliveryStatus{
		Job: job.ID, Action: job.Action, Cluster: in.Cluster.Name, Generation: job.Generation, Attempt: job.Attempt, CreatedAt: job.CreatedAt, RetryAt: retry,
	}
	if in.Report == nil {
		return d
	}
	d.Resource = in.Report.Applied
	if in.Report.Job == job.ID {
		d.AcknowledgedAt = in.Report.AckedAt
		if result := in.Report.Result; result != nil {
			d.Outcome, d.Error, d.EndedAt = result.Outcome, result.Error, result.At
		}
	}
	return d
}

// delivered returns the condition of that type: unknown while the job is under way.
func (in Input) delivered(job *api.ClusterJob) api.Condition {
	c := api.Condition{Type: ConditionDelivered, Status: api.ConditionFalse}
	object := in.Object.Ref()
	if job == nil {
		c.Reason, c.Message = api.ReasonClusterNotFound, fmt.Sprintf("no cluster %s is declared", in.Cluster.Name)
		c.Next = "tend clusters add " + in.Cluster.Name
		if in.Cluster.Declared {
			c.Reason, c.Message = api.ReasonNamespaceNotAllowed, fmt.Sprintf("cluster %s takes nothing for the namespace %s", in.Cluster.Name, object.Scope)
			c.Next = "add it to the cluster's namespaces, or choose another scope"
		}
		return c
	}
	result := resultOf(job, in.Report)
	switch {
	case result == nil:
		return in.underway(c, job)
	case succeeded(result):
		c.Status, c.Reason, c.Message = api.ConditionTrue, api.ReasonInCluster, fmt.Sprintf("cluster %s has generation %d", in.Cluster.Name, job.Generation)
	case result.Outcome == pull.OutcomeConflict:
		c.Reason, c.Message = api.ReasonFieldConflict, "in the cluster: "+result.Error
		c.Next = "give the field up in the cluster or leave it out of the manifest; then tend apply --force"
	case expired(*result):
		return in.underway(c, job)
	default:
		c.Reason, c.Message, c.Next = api.ReasonDeliveryFailed, "in the cluster: "+result.Error, "correct the manifest, or what the cluster lacks; it is sent again"
	}
	return c
}

// underway completes the condition of a job without a result.
func (in Input) underway(c api.Condition, job *api.ClusterJob) api.Condition {
	c.Status, c.Reason = api.ConditionUnknown, api.ReasonWaitingForCluster
	what := fmt.Sprintf("generation %d", job.Generation)
	if job.Action == api.ActionDelete {
		what = "the deletion"
	}
	taken := in.Report != nil && in.Report.Job == job.ID
	switch {
	case taken:
		c.Reason, c.Message = api.ReasonApplying, fmt.Sprintf("cluster %s has taken %s", in.Cluster.Name, what)
		if in.Report.Message != "" {
			c.Message += ": " + in.Report.Message
		}
	case in.Cluster.Connected != nil && in.Cluster.Connected.Status != api.ConditionTrue:
		c.Message = fmt.Sprintf("%s waits for cluster %s: %s", what, in.Cluster.Name, in.Cluster.Connected.Message)
	default:
		c.Message = fmt.Sprintf("%s waits for cluster %s to take it", what, in.Cluster.Name)
	}
	if job.Action == api.ActionDelete {
		ref := in.Object.Ref()
		c.Reason = api.ReasonDeletingInCluster
		c.Next = fmt.Sprintf("if the cluster is gone for good: tend delete %s %s/%s --orphan", ref.Kind, ref.Scope, ref.Name)
	}
	return c
}

// The conditions of an operation that end it.
const (
	operationSucceeded = "Succeeded"
	operationFailed    = "Failed"
	operationCancelled = "Cancelled"
	operationRunning   = "Running"
)

// ready returns whether the declared generation is ready: of an operation, whether it has succeeded.
func (in Input) ready(delivered api.Condition) api.Condition {
	c := api.Condition{Type: api.ConditionReady, Status: api.ConditionUnknown, Reason: delivered.Reason, Message: delivered.Message}
	if delivered.Status == api.ConditionFalse {
		c.Status = api.ConditionFalse
	}
	if in.Report == nil || in.Report.Observed < in.Object.Metadata.Generation || in.Object.Metadata.Deleting() {
		return c
	}
	wanted := api.ConditionReady
	if in.Object.Kind == api.KindOperation {
		wanted = operationSucceeded
	}
	for _, reported := range in.Report.Conditions {
		if reported.Type == wanted {
			c.Status, c.Reason, c.Message = reported.Status, reported.Reason, reported.Message
			return c
		}
	}
	if delivered.Status == api.ConditionTrue {
		c.Reason, c.Message = api.ReasonNotReported, "the cluster has not reported yet how it is"
	}
	return c
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

func (in Input) troubled(c api.ReportedCondition) api.Condition {
	return api.Condition{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: c.Reason, Message: c.Message}
}

// others returns the conditions of the resource that Tend has none of its own for.
func (in Input) others() (out []api.Condition) {
	if in.Report == nil {
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
	switch {
	case job == nil:
		return api.DeliveredPending
	case job.Action == api.ActionDelete:
		return api.DeliveredDeleting
	case delivered.Reason == api.ReasonFieldConflict:
		return api.DeliveredConflict
	case in.Object.Kind == api.KindOperation && in.Report != nil:
		for _, end := range []struct{ condition, phase string }{
			{operationSucceeded, api.OperationSucceeded}, {operationFailed, api.DeliveredFailed}, {operationCancelled, api.OperationCancelled}, {operationRunning, api.OperationRunning},
		} {
			if in.reported(end.condition, api.ConditionTrue) != nil {
				return end.phase
			}
		}
	}
	switch {
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
