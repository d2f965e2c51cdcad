package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/owner"
)

// oldTransition is the age from which a probe's change is not notified: after a downtime it is too old to be of use.
const oldTransition = 10 * time.Minute

// transition is a probe's change that the on_probe webhooks are notified of.
type transition struct {
	task     owner.Task
	probe    string
	status   api.ProbeStatus
	recovery bool
}

// transitions returns the changes of probes that the on_probe webhooks are to be notified of. Each change to unhealthy
// notifies a failure once; a recovery is notified only after a failure. Probes of tasks that are being stopped are
// skipped. notified is the state to store: the newest failure of each probe that has not recovered.
func (o observed) transitions(now time.Time) (out []transition, notified map[string]int) {
	if o.spec.OnProbe == nil || o.deleting() {
		return nil, nil
	}
	notified = map[string]int{}
	for _, t := range o.tasks {
		if t.Status == nil || t.Status.State != api.TaskRunning || t.Desired.Value.Desired != api.DesiredRunning {
			continue
		}
		for _, probe := range slices.Sorted(maps.Keys(t.Status.Probes)) {
			status, key := t.Status.Probes[probe], t.Desired.Value.ID+"/"+probe
			before, failed := o.unhealthy(key)
			change := transition{task: t, probe: probe, status: status, recovery: status.Phase == api.ProbeHealthy}
			notifies := change.recovery && failed || status.Phase == api.ProbeUnhealthy && before != status.Transition
			if notifies && now.Sub(status.Since) < oldTransition {
				out = append(out, change)
			}
			switch {
			case status.Phase == api.ProbeUnhealthy:
				notified[key] = status.Transition
			case failed && !change.recovery:
				notified[key] = before // unknown, after a restart for example: the recovery is still to come
			}
		}
	}
	if len(notified) == 0 {
		notified = nil
	}
	return out, notified
}

func (o observed) unhealthy(key string) (transition int, failed bool) {
	if o.status.Value == nil {
		return 0, false
	}
	transition, failed = o.status.Value.Unhealthy[key]
	return transition, failed
}

// probeCalls returns the webhook calls for the changes of probes.
func (o observed) probeCalls(now time.Time) []api.Delivery {
	changes, _ := o.transitions(now)
	var out []api.Delivery
	for _, change := range changes {
		list, word := api.HooksProbeFailure, "failure"
		if change.recovery {
			list, word = api.HooksProbeRecovery, "recovery"
		}
		task := change.task.Desired.Value
		id := fmt.Sprintf("probe-%s-%s-%d", strings.ToLower(task.ID), change.probe, change.status.Transition)
		tokens := o.tokens(change.status.Since, change.status.Message)
		if release := o.release(task.Release); release != nil {
			tokens["image"] = release.Image
		}
		tokens["release_id"], tokens["pod"], tokens["probe"] = task.Release, task.ContainerName(), change.probe
		tokens["transition"], tokens["transition_id"], tokens["status"] = word, id, ""
		out = append(out, o.calls(list, id, tokens, now)...)
	}
	return out
}
