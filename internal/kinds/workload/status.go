package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/nextstep"
)

// nextStatus returns a deployment's status after a reconcile.
func (o observed) nextStatus(a assessment, now time.Time) api.WorkloadStatus {
	s := api.WorkloadStatus{}
	if o.status.Value != nil {
		s = *o.status.Value
	}
	s.ObservedGeneration = o.object.Value.Metadata.Generation
	s.ObservedRevision = o.object.Modified
	s.Replicas = o.spec.ReplicaCount()
	if o.image().State == api.ImagePresent {
		s.Pulled = o.stamp(api.StampPull)
	}
	counts := a.plan.Counts
	s.Running, s.Ready, s.Updated, s.Frozen = counts.Running, counts.Ready, counts.Updated, counts.Frozen
	if a.known && a.target.release != nil {
		release := a.target.release
		s.Release, s.Image, s.ImageID = release.ID, release.Image, release.ImageID
		s.LastReleaseNumber = max(s.LastReleaseNumber, release.Number)
		rollout := o.nextRollout(a, now)
		s.Rollout = &rollout
	}
	if release := a.target.minted(); release != nil {
		s.LastReleaseNumber = max(s.LastReleaseNumber, release.Number)
	}
	s.Staying = o.staying(a)
	s.Notified, s.Outcomes = o.notified(a, now), o.outcomes(a)
	_, s.Unhealthy = o.transitions(now)
	for _, condition := range o.conditions(a) {
		s.Conditions = api.SetCondition(s.Conditions, condition, now)
	}
	s.Conditions = o.withAfter(s.Conditions, a, now)
	return s
}

// mostStaying bounds the pods that a status lists.
const mostStaying = 100

// staying returns the pods that stay where they should not be. Those of a global deployment need no other node: they
// end.
func (o observed) staying(a assessment) (out []api.StayingPod) {
	if o.spec.Global() {
		return nil
	}
	for _, t := range o.tasks {
		task := t.Desired.Value
		refusal, homeless := o.homeless[task.ID]
		if homeless && slices.Contains(a.plan.Staying, task.Slot) && len(out) < mostStaying {
			message := o.misplaced[task.ID]
			if refusal.Message != message {
				message += "; " + refusal.Message
			}
			out = append(out, api.StayingPod{Pod: task.ContainerName(), Message: message, Next: refusal.Next})
		}
	}
	return out
}

// nextRollout returns the updated state of the rollout.
func (o observed) nextRollout(a assessment, now time.Time) api.RolloutStatus {
	r := o.rollout()
	again := !r.EndedAt.IsZero() && a.plan.Phase != api.RolloutComplete // a scale, or healing
	if r.TargetRelease != a.target.release.ID {
		r.TurnedAt = now
	}
	switch {
	case r.TargetRelease != a.target.release.ID || o.status.Value == nil ||
		o.status.Value.ObservedRevision != o.object.Modified:
		r.Healing = false
	case again:
		r.Healing = true
	}
	if r.TargetRelease != a.target.release.ID || r.StartedAt.IsZero() || again {
		r.TargetRelease, r.StartedAt, r.EndedAt = a.target.release.ID, now, time.Time{}
	}
	if o.repeats(r.LastGoodRelease, a.target.release) {
		r.LastGoodRelease = a.target.release.ID
	}
	r.Replicas = a.desired.Replicas
	r.Phase, r.Reason, r.Message = a.plan.Phase, a.plan.Reason, a.plan.Message
	if a.target.turned == nil {
		r.Failed = nil
	} else {
		r.Failed = a.target.turned
		r.Reason, r.Message = api.ReasonRolledBack, rolledBackMessage(a.target)
		switch a.plan.Phase {
		case api.RolloutComplete:
			r.Phase = api.RolloutRolledBack
		case api.RolloutProgressing:
			r.Phase = api.RolloutRollingBack
		}
	}
	if a.plan.Phase == api.RolloutComplete {
		r.LastGoodRelease, r.GoodRestart = a.target.release.ID, o.stamp(api.StampRestart)
		if r.EndedAt.IsZero() {
			r.EndedAt = now
		}
	} else {
		r.EndedAt = time.Time{}
	}
	return r
}

func rolledBackMessage(t target) string {
	back := t.release.ID
	if since := t.turned.Config.String(); since != "" {
		back += " and the config it ran with (since then: " + since + ")"
	}
	message := fmt.Sprintf("%s failed, back on %s: %s", t.turned.Release, back, t.turned.Message)
	return strings.Join(append([]string{message}, t.turned.LastLog...), "\n")
}

// again is the command that retries what failed.
func (o observed) again() string { return fmt.Sprintf("tend restart %s/%s", o.ref.Scope, o.ref.Name) }

// failedRollout records what an automatic rollback turns away from.
func (o observed) failedRollout(a assessment, now time.Time) *api.FailedRollout {
	release := a.target.release
	return &api.FailedRollout{
		Release: release.ID, Hash: release.SpecHash, EnvHash: release.EnvHash, ImageID: release.ImageID,
		Generation: o.object.Value.Metadata.Generation, Restart: o.stamp(api.StampRestart),
		Pull:   o.stamp(api.StampPull),
		Reason: a.plan.Reason, Message: a.plan.Message, Next: cmp.Or(a.plan.Next,
			nextstep.CorrectCause+"; to try "+release.ID+" again unchanged: "+o.again()), Slot: a.plan.Slot,
		LastLog: o.lastLog(a.plan.Slot), At: now,
	}
}

// withLateLog adds the last lines of the slot that failed, if they arrived after the rollback had begun.
func (o observed) withLateLog(failed *api.FailedRollout) *api.FailedRollout {
	if len(failed.LastLog) > 0 {
		return failed
	}
	notified := *failed
	notified.LastLog = o.lastLog(failed.Slot)
	return &notified
}
