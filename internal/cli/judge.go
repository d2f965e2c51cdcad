package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// unworkable are the reasons for which no work is done on an object until a user changes something.
var unworkable = []string{"InvalidSpec", "EnvironmentUnreadable", "EnvFromEmpty", "SecretKeyMissing"}

// unresolved is the reason of a reference that points at nothing. Its target may be among the objects waited for.
const unresolved = "UnresolvedReference"

// judge returns the state of a wait, by the object's own conditions.
func judge(w wait, object api.Object, status api.WorkloadStatus) seen {
	s := seen{wait: w, since: object.Metadata.UpdatedAt, turnsBack: turnsBack(status)}
	if object.Metadata.Deleting() {
		s.since = *object.Metadata.DeletedAt
	}
	ready := api.FindCondition(status.Conditions, api.ConditionReady)
	progressing := api.FindCondition(status.Conditions, api.ConditionProgressing)
	if s.judgeStored(object, status, ready, progressing) {
		return s
	}
	s.judgeAfter(status)
	switch {
	case w.gone && !object.Metadata.Deleting() && object.Metadata.Revision >= w.revision:
		s.outcome, s.reason, s.message = converged, "Gone", "gone, and created anew by somebody"
		return s
	case w.gone:
		s.reason, s.message = "Deleting", "stopping its pods"
		return s
	case object.Metadata.Deleting():
		s.outcome, s.reason, s.message = failed, "Deleting", "somebody is deleting it"
		return s
	case ready == nil || progressing == nil && object.Kind != api.KindIngress || status.ObservedRevision < w.revision:
		s.reason, s.message = "Unseen", "waiting for the controller"
		return s
	case object.Kind == api.KindIngress:
		return judgeIngress(s, *ready, api.FindCondition(status.Conditions, api.ConditionDegraded))
	case ready.Status == api.ConditionTrue && progressing.Status == api.ConditionFalse && s.follows != "" && !w.counts:
		s.reason, s.message = "RunningPostCommand", s.follows
		return s
	case ready.Status == api.ConditionTrue && progressing.Status == api.ConditionFalse: // old pods have ended too
		s.outcome = converged
	case w.counts && progressing.Reason == "ReleaseCommandFailed" && counted(status):
		return s.scaled(status, *progressing)
	case progressing.Status != api.ConditionFalse: // under way
		s.needs = needs(object, *progressing)
	case progressing.Reason == "ResolvingImage":
		s.outcome = failed // the image is not available
	case slices.Contains(unworkable, progressing.Reason):
		s.outcome = failed
	case progressing.Reason == unresolved:
		s.lacks = true
	case progressing.Reason == "ReleaseCommandFailed" && !w.counts:
		s.outcome = held
	case didNotLast(status):
		s.outcome = held
	default: // the running pods are being healed, or their engine is away: temporary
	}
	s.judgeFrozen(status, ready, progressing)
	s.blame(status, *ready, *progressing)
	if w.generation > 0 && object.Metadata.Generation > w.generation {
		head, rest, _ := strings.Cut(s.message, "\n")
		s.message = strings.TrimSuffix(fmt.Sprintf("%s (of a newer change, generation %d)\n%s", head, object.Metadata.Generation, rest), "\n")
	}
	return s
}

// judgeStored ends the wait for objects that only have to be stored: applying a job runs nothing, and the users of an
// asset are waited for themselves.
func (s *seen) judgeStored(object api.Object, status api.WorkloadStatus, ready, progressing *api.Condition) bool {
	switch {
	case s.gone || object.Metadata.Deleting():
		return false
	case object.Kind.HasRuns() && status.ObservedRevision >= s.revision:
		s.outcome, s.reason, s.message = converged, "Registered", "registered"
		s.judgeBuild(ready, progressing)
		return true
	case object.Kind == api.KindAsset || object.Kind == api.KindRegistry:
		s.outcome, s.reason, s.message = converged, "Stored", "stored"
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
func giveUp(looks []seen) {
	giveUpDependents(looks)
	if slices.ContainsFunc(looks, func(s seen) bool { return s.outcome == pending && !s.lacks }) {
		return
	}
	for i := range looks {
		if looks[i].lacks && looks[i].reason != noReadyPods {
			looks[i].outcome = failed
		}
	}
	giveUpPods(looks)
}

func settled(looks []seen) bool {
	for _, s := range looks {
		if s.outcome == pending {
			return false
		}
	}
	return true
}

// verdict returns the command's result: nil if all converged, else every trouble. An error decides the exit code.
func verdict(looks []seen) error {
	worst := exitOK
	var texts []string
	for _, s := range looks {
		switch s.outcome {
		case failed:
			worst = exitError
		case held:
			if worst == exitOK {
				worst = exitPaused
			}
		default:
			continue
		}
		texts = append(texts, trouble(s))
	}
	if worst == exitOK {
		return nil
	}
	return &exitStatus{code: worst, text: strings.Join(texts, "\n")}
}

func timedOut(looks []seen, timeout time.Duration) error {
	text := fmt.Sprintf("not converged after %s; Tend goes on with it", timeout)
	for _, s := range looks {
		if s.outcome != converged {
			head, _, _ := strings.Cut(s.message, "\n")
			text += fmt.Sprintf("\n  %s: %s%s", s.ref, ending(s), head) + holdUps(s) + nextLine("    ", s.next)
		}
	}
	return &exitStatus{code: exitTimeout, text: text}
}

// holdUps returns what the pods say that are not ready, the first few of them.
func holdUps(s seen) (text string) {
	const few = 3
	told := 0
	for _, pod := range s.pods {
		if head, _, _ := strings.Cut(pod.Message, "\n"); !pod.Ready && head != "" && told < few && !strings.Contains(s.message, head) {
			text += fmt.Sprintf("\n    %s: %s", pod.Name, printable(head, "")) + nextLine("      ", printable(pod.Next, ""))
			told++
		}
	}
	return text
}
