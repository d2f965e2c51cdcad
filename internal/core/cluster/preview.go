package cluster

import (
	"fmt"

	"tend.dev/tend/api"
)

// Preview returns what would be done for an object in its cluster: to apply it, if there is no job for it yet, and to undo what the
// cluster has otherwise than it was applied. What is only reported is left out of neither: it says so.
func Preview(in Input) (plan []api.PlannedAction) {
	add := func(verb, reason, text string) {
		plan = append(plan, api.PlannedAction{Object: in.Object.Ref(), Verb: verb, Reason: reason, Text: text})
	}
	job, name := in.Job, in.Cluster.Name
	if !in.Cluster.Declared || !in.Cluster.Spec.Allows(in.Object.Scope) {
		return nil
	}
	if in.Object.Metadata.Deleting() {
		add("delete", "", "delete it in cluster "+name)
		return plan
	}
	if job == nil || in.Object.Metadata.UID != job.UID || job.Action != api.ActionApply || !asksFor(*job, jobKey(in.Object, api.ActionApply)) {
		add("apply", "", fmt.Sprintf("apply generation %d in cluster %s", in.Object.Metadata.Generation, name))
		return plan
	}
	left := ""
	if !in.heals() {
		left = "; this is reported only"
	}
	switch live := in.live(job); {
	case live != nil && len(live.Differences) > 0 && !live.Deleting:
		for _, d := range live.Differences {
			add("restore", api.ReasonDrifted, fmt.Sprintf("restore in cluster %s: %s%s", name, differenceText(d), left))
		}
	case live != nil && !in.pastOperation():
		add("create", api.ReasonMissing, found(name, *live)+left)
	case job.Heal != nil && !in.applied(job):
		add("apply", job.Heal.Reason, "apply again: "+job.Heal.Message)
	}
	return plan
}
