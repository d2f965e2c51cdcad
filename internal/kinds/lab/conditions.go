package lab

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/kinds/owner"
)

// why returns the reason for the state of a lab that has not ended.
func (o observed) why(a assessment) (reason, message string) {
	p := a.plan
	switch {
	case a.refused != nil && p.Waits != lab.ForPerson:
		return a.refused.Reason, a.refused.Message
	case p.Waits == lab.ForStart && !p.RetryAt.IsZero():
	case p.Waits == lab.ForStart:
		return api.ReasonScheduled, "begins at " + stampOf(o.spec.StartsAt())
	case p.Waits == lab.ForRelease:
		name, _ := o.object.Value.WantedImage(o.spec.Container)
		return control.ImageReason(o.image(), api.ReasonResolvingImage),
			owner.ImageProgress(o.image(), name, o.resolver, o.nodes)
	case p.Waits == lab.ForNode && a.unplaced.Message != "":
		return a.unplaced.Reason(), a.unplaced.Message
	case p.Phase == api.LabProvisioning && p.Failures > 0 && p.Waits != lab.ForNeed: // also while the next one is made
		return api.ReasonProvisioningFailed, o.failing(a)
	case p.Waits == lab.ForNode:
		return api.ReasonWaiting, "waiting for a node"
	case p.Phase == api.LabProvisioning && p.Message == "":
		return api.ReasonProvisioning, progressOf(p.Current)
	case p.Phase == api.LabRunning:
		return api.ReasonRunning, o.runs(a)
	}
	return p.Reason, p.Message
}

// failing returns a text for a lab without a started container so far, with the cause of the last failure.
func (o observed) failing(a assessment) string {
	times := fmt.Sprintf("%d times", a.plan.Failures)
	if a.plan.Failures == 1 {
		times = "once"
	}
	return "its container could not be started, " + times + " so far: " + o.lastFailure(a)
}

// lastFailure returns the reason why the last container could not be started.
func (o observed) lastFailure(a assessment) string {
	if t := a.plan.Current; a.plan.Failures > o.before().Failures && t != nil && t.Status != nil {
		return t.Status.Message
	}
	return o.before().LastFailure
}

// runs returns a text with the end of a running lab, and a note if it can't be reached.
func (o observed) runs(a assessment) string {
	text := "ends at " + stampOf(a.plan.EndsAt)
	if route, routed := o.spec.Route(); routed && a.url == "" {
		text += "; " + route.Host + " is not served: " + a.unserved.why
	}
	return text
}

// progressOf returns a text with the node's current step. A step is a detail of the pod, not a change of the lab,
// unless a person can help.
func progressOf(t *lab.Task) string {
	switch {
	case t == nil:
		return ""
	case t.Status != nil && t.Status.Next != "":
		return t.Status.Message
	}
	return "its container is being made on node " + t.Node
}

// noPlace reports whether a lab waits for a node that takes it.
func noPlace(s api.LabStatus) bool {
	return s.Reason == api.ReasonNoNode || s.Reason == api.ReasonTooLarge || s.Reason == api.ReasonNoRuntime
}

// next returns the next step, if something is wrong.
func (o observed) next(a assessment, s api.LabStatus) string {
	p := a.plan
	switch {
	case s.Phase == api.LabFailed:
		return fmt.Sprintf("delete it and apply it again: tend delete lab %s/%s", o.ref.Scope, o.ref.Name)
	case s.Phase.Ended():
		return ""
	case a.refused != nil && a.refused.Next != "":
		return a.refused.Next
	case noPlace(s):
		return a.unplaced.Next
	case s.Reason == api.ReasonProvisioningFailed && p.Failures > o.before().Failures:
		return p.Current.Status.Next
	case s.Reason == api.ReasonProvisioningFailed:
		if was := api.FindCondition(o.before().Conditions, api.ConditionDegraded); was != nil &&
			was.Reason == s.Reason {
			return was.Next
		}
	case p.Waits == lab.ForPerson:
		return "apply it with another start, or delete it"
	}
	return ""
}

// manyFailures is the number of failed starts after which a lab no longer counts as progressing. Tend keeps trying.
const manyFailures = 3

func (o observed) conditions(a assessment, s api.LabStatus) []api.Condition {
	ready := api.Condition{Type: api.ConditionReady, Status: api.ConditionFalse, Reason: s.Reason, Message: s.Message}
	progressing := api.Condition{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: api.ReasonComplete}
	degraded := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	switch {
	case s.Phase == api.LabRunning:
		ready.Status, ready.Next = api.ConditionTrue, a.unserved.next
	case s.Phase.Ended() && len(o.tasks) > 0 && !allForgotten(a.plan):
		progressing.Reason, progressing.Message = api.ReasonCleaningUp, "its container is being removed"
	case s.Phase.Ended():
	case a.plan.Waits == lab.ForStart || a.refused != nil || a.plan.Waits == lab.ForPerson || noPlace(s) &&
		a.patience == 0,
		s.Reason == api.ReasonProvisioningFailed && a.plan.Failures >= manyFailures:
		progressing.Reason = s.Reason
	default:
		progressing.Status, progressing.Reason = api.ConditionTrue, s.Reason
	}
	switch {
	case s.Phase == api.LabFailed:
		degraded.Status, degraded.Reason = api.ConditionTrue, api.ReasonLabFailed
		degraded.Message = strings.Join(append([]string{s.Message}, s.LastLog...), "\n")
	case s.Phase.Ended():
	case a.refused != nil, noPlace(s), s.Reason == api.ReasonProvisioningFailed, a.plan.Waits == lab.ForPerson:
		degraded.Status, degraded.Reason, degraded.Message, ready.Message = api.ConditionTrue, s.Reason, s.Message, ""
	}
	if degraded.Status == api.ConditionTrue {
		degraded.Next = o.next(a, s)
	}
	return []api.Condition{ready, progressing, degraded}
}

// allForgotten reports whether nothing is left of a lab after a plan.
func allForgotten(p lab.Plan) bool {
	forgotten := 0
	for _, action := range p.Actions {
		if action.Verb == lab.ForgetTask {
			forgotten++
		}
	}
	return forgotten > 0 && forgotten == len(p.Actions)
}

func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }
