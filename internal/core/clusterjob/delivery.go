package clusterjob

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// delivery returns what became of the job of an object; nil if it has none.
func (in Input) delivery(job *api.ClusterJob, retry time.Time) *api.DeliveryStatus {
	if job == nil {
		return nil
	}
	d := &api.DeliveryStatus{
		Job: job.ID, Action: job.Action, Cluster: in.Cluster.Name, Generation: job.Generation, Attempt: job.Attempt,
		CreatedAt: job.CreatedAt, RetryAt: retry,
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
	switch {
	case job != nil:
	case !in.Cluster.Declared:
		c.Reason, c.Message = api.ReasonClusterNotFound, fmt.Sprintf("no cluster %s is declared", in.Cluster.Name)
		c.Next = "tend clusters add " + in.Cluster.Name
		return c
	case !in.Cluster.Spec.Allows(object.Scope):
		c.Reason, c.Message = api.ReasonNamespaceNotAllowed,
			fmt.Sprintf("cluster %s takes nothing for the namespace %s", in.Cluster.Name, object.Scope)
		c.Next = "add it to the cluster's namespaces, or choose another scope"
		return c
	default:
		return in.past(c)
	}
	result, settled := resultOf(job, in.Report), in.settled(job.Action)
	switch live := in.live(job); {
	case live != nil && in.ended() == "":
		return in.astray(c, job, *live)
	case settled && (result == nil || succeeded(result) || expired(*result)):
		return in.past(c)
	case in.applied(job) || succeeded(result):
		c.Status, c.Reason, c.Message = api.ConditionTrue, api.ReasonInCluster,
			fmt.Sprintf("cluster %s has generation %d", in.Cluster.Name, job.Generation)
	case result == nil:
		return in.underway(c, job)
	case result.Outcome == pull.OutcomeConflict:
		c.Reason, c.Message = api.ReasonFieldConflict, "in the cluster: "+result.Error
		c.Next = "give the field up in the cluster or leave it out of the manifest; then tend apply --force"
	case expired(*result):
		return in.underway(c, job)
	default:
		c.Reason, c.Message, c.Next = api.ReasonDeliveryFailed, "in the cluster: "+result.Error,
			"correct the manifest, or what the cluster lacks; it is sent again"
	}
	if c.Status == api.ConditionFalse && settled {
		c.Next = doneOnce
	}
	return c
}

// past completes the condition of an operation that has ended: nothing is sent for it any more. Its labels and
// annotations matter no longer, but a spec that the cluster never had was not done.
func (in Input) past(c api.Condition) api.Condition {
	had, declared := in.Report.Observed, in.Object.Metadata.Generation
	if had >= declared {
		c.Status, c.Reason, c.Message = api.ConditionTrue, api.ReasonInCluster,
			fmt.Sprintf("cluster %s has generation %d", in.Cluster.Name, had)
		return c
	}
	c.Reason, c.Message, c.Next = api.ReasonDeliveryFailed,
		fmt.Sprintf("it ended with generation %d: generation %d is not sent", had, declared), doneOnce
	return c
}

// underway completes the condition of a job without a result.
func (in Input) underway(c api.Condition, job *api.ClusterJob) api.Condition {
	c.Status, c.Reason = api.ConditionUnknown, api.ReasonWaitingForCluster
	what := fmt.Sprintf("generation %d", job.Generation)
	if job.Heal != nil {
		what += " again"
	}
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
