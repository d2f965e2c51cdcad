package outcome

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// The reasons that say more than the status of their conditions.
var (
	// missing: what the object refers to may be on its way.
	missing = []string{api.ReasonUnresolvedReference, api.ReasonNoService, api.ReasonNoReadyPods}
	// wanted: it isn't ready because a person wants it so.
	wanted = []string{api.ReasonPaused, api.ReasonMaintenance}
	// passing: it becomes ready by itself, whatever else is the matter.
	passing = []string{api.ReasonOpening, api.ReasonCertificatePending}
	// held: what ran before runs on, or nothing runs until there is a node for it.
	held = []string{
		api.ReasonPaused, api.ReasonRolledBack, api.ReasonReleaseCommandFailed,
		api.ReasonNoRuntime, api.ReasonTooLarge, api.ReasonNoNode,
	}
)

// judge returns what has become of one write, by the object's own conditions.
func judge(w api.Awaited, object api.Object, status api.WorkloadStatus) judged {
	s := judged{Awaited: w, Outcome: api.Outcome{State: api.OutcomePending, UpdatedAt: object.Metadata.UpdatedAt},
		turnsBack: turnsBack(status), rollout: status.Rollout}
	if object.Metadata.Deleting() {
		s.UpdatedAt = *object.Metadata.DeletedAt
	}
	c := conditionsOf(status)
	later := object.Kind.Info().Later
	if object.Kind.HasRuns() && (runsItself(object) || !holds(c.ready)) {
		later = "" // it runs now, or a run that is asked for couldn't begin
	}
	switch {
	case w.Gone && !object.Metadata.Deleting() && object.Metadata.Revision >= w.Revision:
		s.State, s.Reason, s.Message = api.OutcomeConverged, "Gone", "deleted, and created again by another command"
	case w.Gone:
		s.Reason, s.Message = "Deleting", deleting(object, c.ready)
	case object.Metadata.Deleting():
		s.State, s.Reason, s.Message = api.OutcomeFailed, "Deleting", "another command is deleting it"
	case !object.Kind.HasController():
		s.State, s.Reason, s.Message = api.OutcomeConverged, "Stored", "stored"
	case c.ready.Type == "" || status.ObservedRevision < w.Revision:
		s.Reason, s.Message = "Unseen", "waiting for the server to begin"
	case later != "" && !w.Built:
		s.State, s.Reason, s.Message = api.OutcomeConverged, "Registered", later
	default:
		s.judgeSeen(object, status, c)
	}
	return s
}

// judgeSeen returns what has become of a write that the controller has seen.
func (s *judged) judgeSeen(object api.Object, status api.WorkloadStatus, c conditions) {
	s.judgeAfter(status)
	s.State = s.rule(object, status, c)
	s.lacks = s.State == api.OutcomePending && !c.under() && slices.Contains(missing, c.ready.Reason)
	if s.State == api.OutcomePending && c.under() && c.progressing.Reason == api.ReasonWaitingForDependency {
		s.needs = api.Dependencies(object)
	}
	switch {
	case s.State == api.OutcomePending && holds(c.ready) && !c.under():
		s.Reason, s.Message = api.ReasonRunningPostCommand, s.follows
		return
	case s.State == api.OutcomeConverged && s.Counts && c.progressing.Reason == api.ReasonReleaseCommandFailed:
		s.scaled(status, c.progressing)
		return
	}
	s.judgeFrozen(status, c)
	s.blame(c)
	if s.Generation > 0 && object.Metadata.Generation > s.Generation {
		s.ofNewer(object.Metadata.Generation)
	}
}

// rule is the one rule by which conditions add up to a state: what is ready and rests has converged, and what
// progresses is pending. Of the rest, what is degraded has failed, or is held: what ran before runs on, or no node
// takes it. What is not degraded has converged, since nothing is to be done; a kind without Progressing stays pending.
func (s *judged) rule(object api.Object, status api.WorkloadStatus, c conditions) api.OutcomeState {
	switch degraded := holds(c.degraded); {
	case holds(c.ready) && !c.under() && degraded && ranInVain(c.degraded.Reason) && runsItself(object):
		return api.OutcomeFailed // it ran, as was asked for
	case holds(c.ready) && !c.under() && (s.follows == "" || s.Counts):
		return api.OutcomeConverged
	case holds(c.ready), c.under(), slices.Contains(missing, c.ready.Reason):
		return api.OutcomePending
	case s.Counts && c.progressing.Reason == api.ReasonReleaseCommandFailed:
		if counted(status) {
			return api.OutcomeConverged
		}
		return api.OutcomePending
	case c.progressing.Type == "" && slices.Contains(wanted, c.ready.Reason):
		return api.OutcomeConverged
	case slices.Contains(passing, c.ready.Reason):
		return api.OutcomePending
	case degraded && (slices.Contains(held, c.progressing.Reason) || slices.Contains(held, c.degraded.Reason)):
		return api.OutcomeHeld
	case degraded:
		return api.OutcomeFailed
	case c.progressing.Type != "":
		return api.OutcomeConverged // nothing is to be done: it waits for its time, is over, or was stopped
	}
	return api.OutcomePending
}

// conditions holds the conditions that determine an outcome. A missing condition is the zero value.
type conditions struct{ ready, progressing, degraded api.Condition }

func conditionsOf(status api.WorkloadStatus) conditions {
	of := func(conditionType string) (c api.Condition) {
		if found := api.FindCondition(status.Conditions, conditionType); found != nil {
			c = *found
		}
		return c
	}
	return conditions{of(api.ConditionReady), of(api.ConditionProgressing), of(api.ConditionDegraded)}
}

// ranInVain reports whether a reason is that of a job whose last run failed, or was stopped.
func ranInVain(reason string) bool {
	return reason == api.ReasonRunFailed || reason == api.ReasonStopped
}

func holds(c api.Condition) bool { return c.Status == api.ConditionTrue }

// under reports whether something is under way.
func (c conditions) under() bool { return holds(c.progressing) }

// runsItself reports whether an object is a job that runs each of its releases by itself.
func runsItself(object api.Object) bool {
	var spec struct {
		RunOnRelease bool `json:"run_on_release"`
	}
	return object.Kind.HasRuns() && json.Unmarshal(object.Spec, &spec) == nil && spec.RunOnRelease
}

// judgeFrozen adds to the outcome of a workload that was stopped on purpose how to start it: no apply does.
func (s *judged) judgeFrozen(status api.WorkloadStatus, c conditions) {
	if c.ready.Reason != api.ReasonFrozen || s.State != api.OutcomeConverged {
		return
	}
	what := fmt.Sprintf("%d of its pods stay", status.Frozen)
	if status.Frozen == 1 {
		what = "1 of its pods stays"
	}
	if !holds(c.ready) {
		s.stopped, what = true, "it stays"
	}
	s.Warning = fmt.Sprintf("%s stopped, as `tend stop` asked; `tend start %s/%s` starts it again", what, s.Ref.Scope,
		s.Ref.Name)
}

// awaitSettled keeps a pod that runs once pending until its node has seen that it stays up. One that ends at once was
// running too, for a moment.
func (s *judged) awaitSettled() {
	settling := slices.ContainsFunc(s.Pods, func(pod api.Pod) bool { return pod.Settling })
	if s.State == api.OutcomeConverged && s.Reason == api.ReasonRunning && settling {
		s.State, s.Message = api.OutcomePending, "it runs; waiting a moment to see that it stays up"
	}
}

// ofNewer adds that what the message says is of a newer change.
func (s *judged) ofNewer(generation int64) {
	head, rest, _ := strings.Cut(s.Message, "\n")
	s.Message = strings.TrimSuffix(fmt.Sprintf("%s (of a newer change, generation %d)\n%s", head, generation, rest),
		"\n")
}

// deleting returns what the deletion of an object waits for.
func deleting(object api.Object, ready api.Condition) string {
	if object.Kind.Delivered() && ready.Type != "" {
		return ready.Message
	}
	return "stopping its pods"
}

// turnsBack reports whether a rollback is possible: to a good release other than the one in force.
func turnsBack(status api.WorkloadStatus) bool {
	r := status.Rollout
	return r != nil && r.LastGoodRelease != "" && r.LastGoodRelease != r.TargetRelease
}
