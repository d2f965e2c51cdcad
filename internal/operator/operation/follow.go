package operation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
)

// follow updates the status of a started operation from its subject.
func (d *decision) follow() {
	subject, err := SubjectOf(d.Request)
	if err != nil {
		d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedEngine, err.Error())
		return
	}
	if !subject.Owned {
		d.followShared()
		return
	}
	if d.Observed == nil || d.replaced() {
		d.followMissing(subject)
		return
	}
	if !engine.Owns(d.op, d.Observed) {
		d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedPrecondition, foreign(subject))
		return
	}
	d.record()
	progress := d.engine.Observe(d.Request, d.Observed)
	d.output(progress.Outputs)
	ending := d.ending()
	switch {
	case progress.State.Done() && d.Observed.GetDeletionTimestamp() == nil:
		d.finish(progress)
	case ending != nil:
		d.delete()
		d.endsSoon(ending.message)
	default:
		d.progress(progress)
	}
}

// followShared follows a subject that the operation doesn't own. Such an operation can end at once.
func (d *decision) followShared() {
	progress := engine.Progress{Reason: opsv1alpha1.RunningPending, Message: "there is no HelmRelease yet"}
	if d.Observed != nil {
		d.record()
		progress = d.engine.Observe(d.Request, d.Observed)
	}
	d.output(progress.Outputs)
	ending := d.ending()
	if ending == nil {
		ending = d.superseded()
	}
	switch {
	case progress.State.Done():
		d.finish(progress)
	case ending != nil:
		d.end(ending.phase, ending.reason, ending.message)
	default:
		d.progress(progress)
	}
}

// followMissing handles an operation whose object doesn't exist. If the object was never seen, the process ended
// between the two steps of the start, and the object is created. Otherwise it was deleted: by the operator if the end
// was requested.
func (d *decision) followMissing(subject engine.Subject) {
	if ending := d.ending(); ending != nil {
		d.end(ending.phase, ending.reason, ending.message)
		return
	}
	if d.op.Status.EngineRef.UID != "" {
		d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedExternalDeletion, fmt.Sprintf(
			"the %s %s/%s was deleted before it ended", subject.Kind, subject.Namespace, subject.Name))
		return
	}
	if d.Refused != nil {
		d.refused(subject)
		return
	}
	if len(d.Conflicts) > 0 {
		d.set(opsv1alpha1.ConditionBlocked, true, opsv1alpha1.BlockedFieldConflict, conflicts(subject, d.Conflicts))
		d.plan.After = lookAgain
		return
	}
	object, err := d.engine.Object(d.Request)
	if err != nil {
		d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedEngine, err.Error())
		return
	}
	d.plan.Apply = object
	d.plan.After = d.untilTimeout()
}

// refused reports the API server's refusal to create the object. A final refusal ends the operation.
func (d *decision) refused(subject engine.Subject) {
	where := fmt.Sprintf("the %s %s/%s can't be created: %s", subject.Kind, subject.Namespace, subject.Name, d.Refused.Message)
	if d.Refused.Final {
		d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedRefused, where+". Correct the fault and create another operation")
		return
	}
	d.set(opsv1alpha1.ConditionBlocked, true, opsv1alpha1.BlockedCreationFailed, where+". The operator retries")
	d.plan.After = lookAgain
}

// lookAgain is the interval of decisions about an operation that waits for something unwatched.
const lookAgain = 30 * time.Second

// conflicts returns which fields of the operation's object others have set, and what to do.
func conflicts(subject engine.Subject, all []apply.Conflict) string {
	parts := make([]string, len(all))
	for i, c := range all {
		parts[i] = fmt.Sprintf("%s is set by %s", c.Field, c.Manager)
	}
	return fmt.Sprintf("the %s %s/%s can't be created: %s. Delete it, or have the manager give the field up; the operator retries",
		subject.Kind, subject.Namespace, subject.Name, strings.Join(parts, "; "))
}

// replaced reports whether another object has taken the name of the operation's object.
func (d *decision) replaced() bool {
	uid := d.op.Status.EngineRef.UID
	return uid != "" && uid != string(d.Observed.GetUID())
}

// record records that the subject was seen.
func (d *decision) record() { d.plan.Status.EngineRef.UID = string(d.Observed.GetUID()) }

// delete plans the deletion of the operation's object, unless it has already been requested.
func (d *decision) delete() {
	if d.Observed.GetDeletionTimestamp() == nil {
		d.plan.Delete = d.Observed
	}
}

// progress sets the status of an engine that is not done.
func (d *decision) progress(p engine.Progress) {
	blocked, reason, message := false, opsv1alpha1.BlockedUnblocked, ""
	switch p.State {
	case engine.Suspended:
		blocked, reason, message = true, opsv1alpha1.BlockedAwaitingResume, p.Message
	case engine.Idle:
		if p.Failing == "" {
			d.set(opsv1alpha1.ConditionSucceeded, true, p.Reason, p.Message)
		}
		p.Reason = opsv1alpha1.RunningVolSyncIdle
	}
	d.failing(p)
	if why := d.stopped(); why != "" {
		blocked, reason, message = true, opsv1alpha1.BlockedTargetNotReady, why
	}
	running := p.Reason != opsv1alpha1.RunningPending
	if running {
		d.plan.Status.Phase = opsv1alpha1.PhaseRunning
	}
	d.set(opsv1alpha1.ConditionRunning, running, p.Reason, p.Message)
	d.set(opsv1alpha1.ConditionBlocked, blocked, reason, message)
	d.plan.After = d.untilTimeout()
	if p.Watch && (d.plan.After == 0 || d.plan.After > lookAgain) {
		d.plan.After = lookAgain
	}
}

// finish ends the operation with its engine's result.
func (d *decision) finish(p engine.Progress) {
	switch p.State {
	case engine.Succeeded:
		d.end(opsv1alpha1.PhaseSucceeded, p.Reason, p.Message)
	case engine.Rejected:
		d.set(opsv1alpha1.ConditionAccepted, false, p.Reason, p.Message)
		d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedEngine, p.Message)
	default:
		d.end(opsv1alpha1.PhaseFailed, p.Reason, p.Message)
	}
}

// ending is an end that doesn't come from the engine.
type ending struct {
	phase           opsv1alpha1.OperationPhase
	reason, message string
}

// ending returns how the operation must end by request or timeout, or nil.
func (d *decision) ending() *ending {
	if identity.Cancels(d.op.Annotations) {
		return &ending{opsv1alpha1.PhaseCancelled, opsv1alpha1.CancelledByUser, d.cancelledBy()}
	}
	if deadline, ok := d.deadline(); ok && !d.Now.Before(deadline) {
		return &ending{opsv1alpha1.PhaseFailed, opsv1alpha1.FailedTimeout, d.timedOut()}
	}
	return nil
}

// cancelledBy returns the cause of a cancellation: people put it into the annotation.
func (d *decision) cancelledBy() string {
	return fmt.Sprintf("by the annotation %s: %s", identity.AnnotationCancel, d.op.Annotations[identity.AnnotationCancel])
}

// engineGrace is the time that an engine with its own timeout has to end and report by itself.
const engineGrace = time.Minute

// beingEnded is the prefix of Running's message while the operation's object is being deleted.
const beingEnded = "is being ended: "

// endsSoon reports that the operation ends once its object is gone. Whether its engine runs doesn't change by that.
func (d *decision) endsSoon(why string) {
	running := meta.IsStatusConditionTrue(d.op.Status.Conditions, opsv1alpha1.ConditionRunning)
	reason := opsv1alpha1.RunningPending
	if running {
		reason = opsv1alpha1.RunningEngineStarted
	}
	d.set(opsv1alpha1.ConditionRunning, running, reason, beingEnded+why)
}

// timedOut returns a message with the time limit and the engine's last report.
func (d *decision) timedOut() string {
	message, last := fmt.Sprintf("not done within %s", engine.Timeout(d.op)), ""
	if c := meta.FindStatusCondition(d.op.Status.Conditions, opsv1alpha1.ConditionRunning); c != nil {
		last = strings.TrimPrefix(c.Message, beingEnded)
	}
	switch {
	case strings.HasPrefix(last, message):
		return last
	case last == "":
		return message
	}
	return message + ": " + last
}

// deadline returns when the operator ends the operation, and whether it does.
func (d *decision) deadline() (time.Time, bool) {
	limit := engine.Timeout(d.op)
	if limit <= 0 || d.plan.Status.StartedAt == nil {
		return time.Time{}, false
	}
	switch d.op.Spec.Engine {
	case opsv1alpha1.EngineJob, opsv1alpha1.EngineHelmHookJob, opsv1alpha1.EngineWorkflow:
		limit += engineGrace
	}
	return d.plan.Status.StartedAt.Add(limit), true
}

func (d *decision) untilTimeout() time.Duration {
	deadline, ok := d.deadline()
	if !ok {
		return 0
	}
	return max(deadline.Sub(d.Now), time.Second)
}

// remove ends an operation that is being deleted. The finalizer stays until the object is gone.
func (d *decision) remove() {
	if held := d.held(); held != "" {
		d.set(opsv1alpha1.ConditionBlocked, true, blockedInEffect, held)
		return
	}
	if d.mustDelete(d.Observed) {
		d.delete()
		if !d.op.Status.Phase.Terminal() && started(d.op) {
			d.endsSoon("the operation is being deleted")
		}
		return
	}
	if !d.op.Status.Phase.Terminal() {
		d.end(opsv1alpha1.PhaseCancelled, opsv1alpha1.CancelledByUser, "the operation was deleted")
	}
	d.plan.Finalizer = false
}

// mustDelete reports whether an object is the operation's own.
func (d *decision) mustDelete(observed *unstructured.Unstructured) bool {
	if observed == nil || !engine.Owns(d.op, observed) {
		return false
	}
	subject, err := SubjectOf(d.Request)
	return err == nil && subject.Owned
}
