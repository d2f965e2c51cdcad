package outcome

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// unworkable are the reasons for which no work is done on an object until a user changes something.
var unworkable = []string{api.ReasonInvalidSpec, api.ReasonEnvironmentUnreadable, api.ReasonEnvFromEmpty, api.ReasonSecretKeyMissing}

// judge returns what has become of one write, by the object's own conditions.
func judge(w api.Awaited, object api.Object, status api.WorkloadStatus) judged {
	s := judged{Awaited: w, Outcome: api.Outcome{State: api.OutcomePending, UpdatedAt: object.Metadata.UpdatedAt}, turnsBack: turnsBack(status)}
	if object.Metadata.Deleting() {
		s.UpdatedAt = *object.Metadata.DeletedAt
	}
	ready := api.FindCondition(status.Conditions, api.ConditionReady)
	progressing := api.FindCondition(status.Conditions, api.ConditionProgressing)
	if s.judgeStored(object, status, ready, progressing) {
		return s
	}
	s.judgeAfter(status)
	switch {
	case w.Gone && !object.Metadata.Deleting() && object.Metadata.Revision >= w.Revision:
		s.State, s.Reason, s.Message = api.OutcomeConverged, "Gone", "deleted, and created again by another command"
		return s
	case w.Gone:
		s.Reason, s.Message = "Deleting", deleting(object, ready)
		return s
	case object.Metadata.Deleting():
		s.State, s.Reason, s.Message = api.OutcomeFailed, "Deleting", "another command is deleting it"
		return s
	case ready == nil || progressing == nil && object.Kind.HasContainers() || status.ObservedRevision < w.Revision:
		s.Reason, s.Message = "Unseen", "waiting for the controller"
		return s
	case object.Kind == api.KindIngress:
		return judgeIngress(s, *ready, api.FindCondition(status.Conditions, api.ConditionDegraded))
	case object.Kind.TimeBoxed():
		return s.judgeLab(object, *ready, *progressing, api.FindCondition(status.Conditions, api.ConditionDegraded))
	case !object.Kind.HasContainers():
		return judgeReady(s, *ready, api.FindCondition(status.Conditions, api.ConditionDegraded))
	case ready.Status == api.ConditionTrue && progressing.Status == api.ConditionFalse && s.follows != "" && !w.Counts:
		s.Reason, s.Message = api.ReasonRunningPostCommand, s.follows
		return s
	case ready.Status == api.ConditionTrue && progressing.Status == api.ConditionFalse: // old pods have ended too
		s.State = api.OutcomeConverged
	case w.Counts && progressing.Reason == api.ReasonReleaseCommandFailed && counted(status):
		return s.scaled(status, *progressing)
	case progressing.Reason == api.ReasonNoRuntime || progressing.Reason == api.ReasonTooLarge: // it goes on when such a node joins
		s.State = api.OutcomeHeld
	case progressing.Status != api.ConditionFalse: // under way
		s.needs = needs(object, *progressing)
	case progressing.Reason == api.ReasonResolvingImage:
		s.State = api.OutcomeFailed // the image is not available
	case slices.Contains(unworkable, progressing.Reason):
		s.State = api.OutcomeFailed
	case progressing.Reason == api.ReasonUnresolvedReference:
		s.lacks = true
	case progressing.Reason == api.ReasonReleaseCommandFailed && !w.Counts:
		s.State = api.OutcomeHeld
	case didNotLast(status):
		s.State = api.OutcomeHeld
	default: // the running pods are being healed, or their engine is away: temporary
	}
	s.judgeFrozen(status, ready, progressing)
	s.blame(status, *ready, *progressing)
	if w.Generation > 0 && object.Metadata.Generation > w.Generation {
		s.ofNewer(object.Metadata.Generation)
	}
	return s
}

// ofNewer adds that what the message says is of a newer change.
func (s *judged) ofNewer(generation int64) {
	head, rest, _ := strings.Cut(s.Message, "\n")
	s.Message = strings.TrimSuffix(fmt.Sprintf("%s (of a newer change, generation %d)\n%s", head, generation, rest), "\n")
}

// deleting returns what the deletion of an object waits for.
func deleting(object api.Object, ready *api.Condition) string {
	if object.Kind.Delivered() && ready != nil {
		return ready.Message
	}
	return "stopping its pods"
}

// judgeStored ends the wait for objects that only have to be stored: applying a job runs nothing, and the users of an
// asset are waited for themselves.
func (s *judged) judgeStored(object api.Object, status api.WorkloadStatus, ready, progressing *api.Condition) bool {
	switch {
	case s.Gone || object.Metadata.Deleting():
		return false
	case object.Kind.HasRuns() && status.ObservedRevision >= s.Revision:
		s.State, s.Reason, s.Message = api.OutcomeConverged, "Registered", "registered"
		s.judgeBuild(ready, progressing)
		s.judgeRun(object, status, ready, progressing)
		return true
	case object.Kind == api.KindCluster && status.ObservedRevision >= s.Revision: // its operator may register at any later time
		s.State, s.Reason, s.Message = api.OutcomeConverged, "Registered", "declared"
		return true
	case !object.Kind.HasController():
		s.State, s.Reason, s.Message = api.OutcomeConverged, "Stored", "stored"
		return true
	}
	return false
}

// turnsBack reports whether a rollback is possible: to a good release other than the one in force.
func turnsBack(status api.WorkloadStatus) bool {
	r := status.Rollout
	return r != nil && r.LastGoodRelease != "" && r.LastGoodRelease != r.TargetRelease
}

// didNotLast says, if nothing progresses any more, whether a rollout ended without having come through.
func didNotLast(status api.WorkloadStatus) bool {
	if status.Rollout == nil {
		return false
	}
	switch status.Rollout.Phase {
	case api.RolloutRolledBack, api.RolloutRollingBack, api.RolloutPaused:
		return true
	}
	return false
}

// giveUp ends the waits for missing references once nothing else is pending: no other object is known to provide them.
func giveUp(all []judged) {
	giveUpDependents(all)
	if slices.ContainsFunc(all, func(s judged) bool { return s.State == api.OutcomePending && !s.lacks }) {
		return
	}
	for i := range all {
		if all[i].lacks && all[i].Reason != api.ReasonNoReadyPods {
			all[i].State = api.OutcomeFailed
		}
	}
	giveUpPods(all)
}
