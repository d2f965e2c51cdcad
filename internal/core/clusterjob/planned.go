package clusterjob

import (
	"fmt"

	"tend.dev/tend/api"
)

// planned returns what a decision has done in the cluster, and what is not done by it: what the cluster has otherwise
// than it was applied, which is undone later or only reported.
func (in Input) planned(d Decision) (does, ahead []api.PlannedAction) {
	name := in.Cluster.Name
	action := func(verb, reason, text string) []api.PlannedAction {
		return []api.PlannedAction{{Object: in.Object.Ref(), Verb: verb, Reason: reason, Text: text}}
	}
	switch job := d.Job; {
	case job == nil:
		return nil, nil
	case job == in.Job:
		return nil, in.unhealed(job)
	case job.Action == api.ActionDelete:
		return action("delete", "", "delete it in cluster "+name), nil
	case job.Heal == nil && job.Attempt == 1:
		return action("apply", "", fmt.Sprintf("apply generation %d in cluster %s", job.Generation, name)), nil
	case job.Heal == nil:
		return action("apply", "", fmt.Sprintf("apply generation %d in cluster %s, attempt %d", job.Generation, name, job.Attempt)), nil
	case job.Attempt > 1:
		return action("apply", job.Heal.Reason, "apply again: "+job.Heal.Message), nil
	}
	return in.restored(in.Job), nil
}

// unhealed returns what a cluster has otherwise than a stored job applies it.
func (in Input) unhealed(job *api.ClusterJob) []api.PlannedAction {
	switch {
	case job.Action != api.ActionApply:
		return nil
	case in.live(job) != nil:
		return in.restored(job)
	case job.Heal != nil && !in.applied(job):
		return []api.PlannedAction{{
			Object: in.Object.Ref(), Verb: "apply", Reason: job.Heal.Reason, Text: "apply again: " + job.Heal.Message,
		}}
	}
	return nil
}

// restored returns what is undone where a cluster has not what a job applied. What is only reported says so.
func (in Input) restored(job *api.ClusterJob) (out []api.PlannedAction) {
	live, left := in.live(job), ""
	if !in.heals() {
		left = "; this is reported only"
	}
	add := func(verb, reason, text string) {
		out = append(out, api.PlannedAction{Object: in.Object.Ref(), Verb: verb, Reason: reason, Text: text + left})
	}
	switch {
	case len(live.Differences) > 0 && !live.Deleting:
		for _, d := range live.Differences {
			add("restore", api.ReasonDrifted, fmt.Sprintf("restore in cluster %s: %s", in.Cluster.Name, differenceText(d)))
		}
	case in.ended() == "":
		add("create", api.ReasonMissing, in.found(*live))
	}
	return out
}
