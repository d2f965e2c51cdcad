package workload

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
)

// conditions returns the three conditions of a deployment: Ready, Progressing, Degraded.
func (o observed) conditions(a assessment) []api.Condition {
	progressing, degraded := o.progress(a), o.trouble(a)
	if progressing.Reason == api.ReasonComplete && heals(degraded) {
		progressing.Status, progressing.Reason, progressing.Message = api.ConditionTrue, degraded.Reason, ""
	}
	ready := o.readiness(a, progressing, degraded)
	if cause, _, _ := strings.Cut(degraded.Message, "\n"); cause != "" &&
		strings.HasPrefix(progressing.Message, cause) {
		progressing.Message = "" // a cause is given once
	}
	return []api.Condition{ready, progressing, degraded}
}

// heals reports whether a complete rollout gets ready again by itself: what was rolled back stays so, and a second
// writer on a volume ends no pod.
func heals(degraded api.Condition) bool {
	return degraded.Status == api.ConditionTrue && degraded.Reason != api.ReasonRolledBack &&
		degraded.Reason != api.ReasonVolumeInUse
}

func (o observed) readiness(a assessment, progressing, degraded api.Condition) api.Condition {
	c := api.Condition{Type: api.ConditionReady, Status: api.ConditionFalse}
	wanted := max(o.spec.ReplicaCount()-a.plan.Counts.Frozen, a.plan.Counts.Wanted) // there may be no plan yet
	ready := min(a.plan.Counts.Ready, wanted)
	serves := degraded.Status == api.ConditionFalse || degraded.Reason == api.ReasonVolumeInUse
	switch {
	case a.known && a.plan.Phase == api.RolloutComplete && serves && !a.target.awaits && a.target.pending == nil:
		c.Status, c.Reason = api.ConditionTrue, api.ReasonConverged
		c.Message = fmt.Sprintf("%d of %d replicas run %s", ready, wanted, a.target.release.ID)
		if a.plan.Stays != "" {
			c.Message += "; " + a.plan.Stays
		}
		if a.plan.Counts.Frozen > 0 {
			c.Reason, c.Message = api.ReasonFrozen, fmt.Sprintf(
				"%s; %d stopped by a person (`tend start` brings them back)", c.Message, a.plan.Counts.Frozen)
		}
		if wanted == 0 && a.plan.Counts.Frozen > 0 {
			c.Status = api.ConditionFalse // nothing serves, though on purpose
		}
	case degraded.Status == api.ConditionTrue:
		c.Reason, c.Message = degraded.Reason, fmt.Sprintf("%d of %d replicas ready", ready, wanted)
	default:
		c.Reason, c.Message = progressing.Reason, fmt.Sprintf("%d of %d replicas ready", ready, wanted)
	}
	if c.Status == api.ConditionFalse && ready == wanted && wanted > 0 {
		c.Message += unfinished(a, degraded)
	}
	return c
}

// unfinished returns the reason why a workload isn't ready although enough pods are.
func unfinished(a assessment, degraded api.Condition) string {
	counts, t, troubled := a.plan.Counts, a.target, degraded.Status == api.ConditionTrue
	switch {
	case degraded.Reason == api.ReasonEngineUnavailable:
		return ", as last seen"
	case t.turned != nil:
		return fmt.Sprintf(", but on %s: %s, which the manifest asks for, failed", t.release.ID, t.turned.Release)
	case t.awaits, t.pending != nil:
		return fmt.Sprintf(" on %s, and what was changed since has not begun", t.release.ID)
	case counts.Arrived >= counts.Wanted && troubled:
		return ", but not for long enough yet"
	case counts.Arrived >= counts.Wanted:
		return ""
	case !troubled:
		return fmt.Sprintf(", updating to %s", t.release.ID)
	case counts.Arrived == 0:
		return fmt.Sprintf(", and none of them runs %s", t.release.ID)
	}
	return fmt.Sprintf(", and only %d of them on %s", counts.Arrived, t.release.ID)
}

func (o observed) progress(a assessment) api.Condition {
	c := api.Condition{Type: api.ConditionProgressing, Status: api.ConditionTrue, Reason: a.plan.Reason,
		Message: a.plan.Message}
	switch {
	case a.target.awaits && o.noRuntime() != "":
		c.Status, c.Reason, c.Message = api.ConditionFalse, api.ReasonNoRuntime, o.noRuntime()
	case a.target.awaits:
		c.Reason, c.Message = control.ImageReason(o.image(), api.ReasonResolvingImage), o.imageProgress()
		if o.image().State == api.ImageFailed {
			c.Status, c.Reason = api.ConditionFalse, o.image().Reason
		}
	case a.target.pending != nil:
		c.Reason, c.Message = a.target.pending.gate.Reason, o.gateMessage(*a.target.pending)
		c.Next = a.target.pending.gate.Next
		if a.target.pending.gate.State == gate.Failed {
			c.Status = api.ConditionFalse
		}
	case a.plan.Phase == api.RolloutComplete && o.stopping() > 0:
		c.Reason, c.Message = api.ReasonStopping, fmt.Sprintf("%s; %d more still stopping", c.Message, o.stopping())
	case a.plan.Phase == api.RolloutComplete:
		c.Status, c.Reason = api.ConditionFalse, api.ReasonComplete
	case backUnready(a):
		c.Status, c.Reason = api.ConditionFalse, api.ReasonRolledBack
		c.Message = fmt.Sprintf("back on %s, whose pods aren't ready either", a.target.release.ID)
	case a.plan.Phase == api.RolloutPaused:
		c.Status, c.Reason = api.ConditionFalse, api.ReasonPaused
		c.Message = "paused until the failed pod is ready, or the next apply"
	case c.Reason == api.ReasonTooLarge || c.Reason == api.ReasonNoRuntime:
		c.Status = api.ConditionFalse // it goes on when such a node joins
	case c.Reason == api.ReasonPaused:
		c.Status = api.ConditionFalse // it goes on when a person lets its pod
	case c.Reason == "Progressing":
		c.Next = a.plan.Next
	}
	return c
}

// backUnready reports whether a rollback has turned every pod, and waits only for pods that were ready before and
// aren't now.
func backUnready(a assessment) bool {
	counts := a.plan.Counts
	return a.target.turned != nil && a.plan.Phase == api.RolloutProgressing && counts.Outdated == 0 &&
		counts.Starting == 0 &&
		counts.Running == counts.Wanted && counts.Ready < counts.Wanted
}

// stopping counts the tasks that are no longer wanted and have not ended, apart from those of lost nodes: what became
// of them is known when their node answers, which may be never.
func (o observed) stopping() (count int) {
	for _, t := range o.tasks {
		if t.Desired.Value.Desired != api.DesiredRunning && t.Status != nil && !t.Status.State.Terminal() &&
			!t.Absence.Lost {
			count++
		}
	}
	return count
}

// noRuntime says that no node has the runtime that the pods need; empty if one has.
func (o observed) noRuntime() string {
	message, _ := o.need("").Missing(o.set.Runtimes)
	return message
}

func (o observed) imageProgress() string {
	image := o.image()
	if image.State == api.ImageFailed {
		return withLog(image.Message, image.Log)
	}
	name, _ := o.wanted()
	return owner.ImageProgress(image, name, o.resolver, o.nodes)
}

// waitsForNode are the reasons of a plan that only a node can go on with.
var waitsForNode = []string{api.ReasonNoNode, api.ReasonTooLarge, api.ReasonNoRuntime, api.ReasonNodeLost,
	api.ReasonNodeDown, api.ReasonEvictionPaused}

// trouble returns the Degraded condition: what a person must fix.
func (o observed) trouble(a assessment) api.Condition {
	c := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionTrue}
	image, beside := o.image(), a.beside()
	switch {
	case control.NodesDown(o.nodes) != "":
		c.Reason, c.Message, c.Next = api.ReasonEngineUnavailable, control.NodesDown(o.nodes), control.EngineStep
	case a.target.awaits && o.noRuntime() != "":
		c.Reason = api.ReasonNoRuntime
		c.Message, c.Next = o.need("").Missing(o.set.Runtimes)
	case image.State == api.ImageFailed && a.target.awaits:
		c.Reason, c.Message, c.Next = image.Reason, withLog(image.Message, image.Log), image.Next
	case a.target.pending != nil && a.target.pending.gate.State == gate.Failed:
		failed := a.target.pending.gate
		c.Reason, c.Message = failed.Reason, withLog(failed.Message, failed.Run.LastLog)
		c.Next = nextstep.CorrectCause + "; to retry: " + o.again()
		if failed.Run.Reason == api.ReasonReleaseTimeout {
			c.Next = "raise `release.timeout` and apply again; to retry: " + o.again()
		}
	case a.target.turned != nil:
		c.Reason, c.Message, c.Next = api.ReasonRolledBack, rolledBackMessage(a.target), a.target.turned.Next
	case a.plan.Phase == api.RolloutPaused, a.plan.Counts.Failing > 0,
		a.plan.Slot != "": // also while the next attempt has not proved itself
		c.Reason, c.Message, c.Next = a.plan.Reason, withLog(o.failure(a.plan), o.lastLog(a.plan.Slot)),
			o.nextStep(a.plan)
	case slices.Contains(waitsForNode, a.plan.Reason):
		c.Reason, c.Message, c.Next = a.plan.Reason, a.plan.Message, a.plan.Next
	case beside != nil:
		c.Reason, c.Message, c.Next = beside.Reason, fmt.Sprintf("pod %s.%s: %s", o.ref.AppID(), beside.ID,
			beside.Message), beside.Next
	default:
		c.Status, c.Reason = api.ConditionFalse, api.ReasonAsExpected
	}
	return c
}

// beside returns the first pod that runs although another program writes to its volume; nil if there is none.
func (a assessment) beside() *rollout.Slot {
	for i, slot := range a.slots {
		if slot.Ready && slot.Reason == api.ReasonVolumeInUse {
			return &a.slots[i]
		}
	}
	return nil
}
