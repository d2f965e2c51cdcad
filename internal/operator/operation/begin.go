package operation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/window"
)

// obstacle is a reason for which an operation may not start now. The operation starts by itself when the obstacle is
// gone.
type obstacle struct {
	// accepted and blocked are the reasons of the two conditions.
	accepted, blocked string
	message           string
}

// begin starts an operation if there is no obstacle.
func (d *decision) begin() {
	if identity.Cancels(d.op.Annotations) {
		d.end(opsv1alpha1.PhaseCancelled, opsv1alpha1.CancelledByUser, "before it started, "+d.cancelledBy())
		return
	}
	if found := d.obstacle(); found != nil {
		d.block(*found)
		return
	}
	subject, err := SubjectOf(d.Request)
	if err != nil {
		d.refuse(err)
		return
	}
	object, err := d.engine.Object(d.Request)
	if err != nil {
		d.refuse(err)
		return
	}
	if d.Observed != nil && subject.Owned && !engine.Owns(d.op, d.Observed) {
		d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedPrecondition, foreign(subject))
		return
	}
	now := metav1.NewTime(d.Now)
	status := &d.plan.Status
	status.Phase, status.StartedAt = opsv1alpha1.PhasePending, &now
	status.EngineRef = &opsv1alpha1.EngineRef{
		APIVersion: subject.GroupVersion().String(), Kind: subject.Kind, Name: subject.Name, Namespace: subject.Namespace,
	}
	if subject.GroupVersionKind == engine.KindJob || subject.GroupVersionKind == engine.KindWorkflow {
		status.LogsRef = &opsv1alpha1.LogsRef{Kind: subject.Kind, Name: subject.Name, Namespace: subject.Namespace}
	}
	status.TargetGeneration = d.Target.Generation
	d.set(opsv1alpha1.ConditionAccepted, true, opsv1alpha1.AcceptedAdmissionPassed, "all preconditions are met")
	d.set(opsv1alpha1.ConditionRunning, false, opsv1alpha1.RunningPending, "the engine "+string(d.op.Spec.Engine)+" has not begun")
	d.set(opsv1alpha1.ConditionSucceeded, false, opsv1alpha1.SucceededNotYet, "")
	d.set(opsv1alpha1.ConditionBlocked, false, opsv1alpha1.BlockedUnblocked, "")
	d.plan.Apply = object
	d.plan.After = d.untilTimeout()
}

func foreign(subject engine.Subject) string {
	return fmt.Sprintf("a %s %s/%s exists and belongs to something else: create an operation with another name",
		subject.Kind, subject.Namespace, subject.Name)
}

// obstacle returns the first unmet precondition, or nil.
func (d *decision) obstacle() *obstacle {
	if d.Denied != nil {
		return &obstacle{opsv1alpha1.BlockedPolicyDenied, opsv1alpha1.BlockedPolicyDenied, d.Denied.Message}
	}
	if err := Validate(d.op); err != nil {
		return &obstacle{opsv1alpha1.AcceptedValidationFailed, opsv1alpha1.BlockedValidationFailed, err.Error()}
	}
	template, err := TemplateOf(d.op.Spec.Type, d.op.Spec.Engine)
	if err != nil {
		return &obstacle{opsv1alpha1.AcceptedValidationFailed, opsv1alpha1.BlockedValidationFailed, err.Error()}
	}
	name := d.op.Spec.TargetRef.Name
	if d.Target == nil || d.Target.DeletionTimestamp != nil {
		return &obstacle{opsv1alpha1.AcceptedTargetNotFound, opsv1alpha1.BlockedTargetNotReady,
			fmt.Sprintf("there is no ApplicationInstance %s in the namespace %s, or it is being deleted", name, d.op.Namespace)}
	}
	if why := d.unready(); why != "" {
		return &obstacle{opsv1alpha1.BlockedTargetNotReady, opsv1alpha1.BlockedTargetNotReady, why}
	}
	if !template.Advertised(d.Target, d.op.Spec.Engine) {
		return &obstacle{opsv1alpha1.AcceptedCapabilityMissing, opsv1alpha1.BlockedDependencyMissing, fmt.Sprintf(
			"%s does not advertise %s by the engine %s: its annotation ops.vworkspace.io/%s must name it",
			name, d.op.Spec.Type, d.op.Spec.Engine, template.Capabilities[0])}
	}
	if err := d.approved(template); err != nil {
		return &obstacle{opsv1alpha1.BlockedAwaitingApproval, opsv1alpha1.BlockedAwaitingApproval, err.Error()}
	}
	if other := firstConflict(d.op, d.Others); other != nil {
		return &obstacle{opsv1alpha1.AcceptedConflictingOperation, opsv1alpha1.BlockedConflictingOperation, fmt.Sprintf(
			"waits for the %s %s of the same target", other.Spec.Type, other.Name)}
	}
	if d.NotInstalled {
		return &obstacle{opsv1alpha1.AcceptedEngineNotInstalled, opsv1alpha1.BlockedDependencyMissing, fmt.Sprintf(
			"the kinds of the engine %s are not installed in the cluster", d.op.Spec.Engine)}
	}
	if d.NoPlace != nil {
		return &obstacle{opsv1alpha1.BlockedDependencyMissing, opsv1alpha1.BlockedDependencyMissing, d.NoPlace.Error()}
	}
	if len(d.Missing) > 0 {
		return missing(d.Missing)
	}
	return d.closed()
}

// missing returns an obstacle for missing objects: all their messages, with the reason of the first.
func missing(all []engine.Need) *obstacle {
	messages := make([]string, len(all))
	for i, need := range all {
		messages[i] = need.String()
	}
	return &obstacle{all[0].Reason, all[0].Reason, strings.Join(messages, "; ")}
}

// closed returns the obstacle of an operation outside the target's maintenance window, or nil. The operation is decided
// again when the window opens.
func (d *decision) closed() *obstacle {
	declared, err := window.Of(d.Target.Annotations)
	if err != nil {
		return &obstacle{opsv1alpha1.AcceptedValidationFailed, opsv1alpha1.BlockedValidationFailed,
			fmt.Sprintf("the ApplicationInstance %s: %v", d.Target.Name, err)}
	}
	opens := declared.Opens(d.Now)
	if opens.IsZero() {
		return nil
	}
	d.plan.After = opens.Sub(d.Now)
	return &obstacle{opsv1alpha1.BlockedOutsideMaintenance, opsv1alpha1.BlockedOutsideMaintenance,
		fmt.Sprintf("the maintenance window of %s opens at %s", d.Target.Name, opens.Format(time.RFC3339))}
}

// unready returns why the target is not ready for the operation, or an empty text.
func (d *decision) unready() string {
	name := d.Target.Name
	if policy := d.op.Spec.Policy; policy != nil && policy.RequireReady {
		if !meta.IsStatusConditionTrue(d.Target.Status.Conditions, appsv1alpha1.ConditionReady) {
			return name + " is not ready, and spec.policy.requireReady is set"
		}
	}
	return d.stopped()
}

// stopped returns why nothing changes the target's release now, so that an Upgrade waits, or an empty text. A target
// that was just suspended counts, although its status doesn't say so yet. One whose objects are refused stops only
// an Upgrade that has begun: one that begins changes what is refused.
func (d *decision) stopped() string {
	if d.op.Spec.Engine != opsv1alpha1.EngineHelm || d.Target == nil {
		return ""
	}
	name, conditions := d.Target.Name, d.Target.Status.Conditions
	suspended := meta.FindStatusCondition(conditions, appsv1alpha1.ConditionSuspended)
	if d.Target.Spec.Suspend || d.Target.Annotations[identity.AnnotationReconcile] == identity.ReconcileDisabled ||
		suspended != nil && suspended.Status == metav1.ConditionTrue &&
			suspended.Reason != appsv1alpha1.SuspendedMaintenanceWindow { // closed handles the window
		return name + " is suspended: resume it, otherwise nothing changes its release"
	}
	blocked := meta.FindStatusCondition(conditions, appsv1alpha1.ConditionBlocked)
	ready := meta.FindStatusCondition(conditions, appsv1alpha1.ConditionReady)
	if blocked != nil && blocked.Status == metav1.ConditionTrue && ready != nil && ready.Reason == blocked.Reason {
		if blocked.Reason == appsv1alpha1.BlockedApplyRefused && !started(d.op) {
			return ""
		}
		return fmt.Sprintf("nothing changes the release of %s: %s: %s", name, blocked.Reason, blocked.Message)
	}
	return ""
}

// approved returns nil if the operation has the approval that it needs.
func (d *decision) approved(template Template) error {
	given := d.op.Spec.Approvals
	if given == nil {
		given = &opsv1alpha1.Approvals{}
	}
	if !template.Approval && !given.Required {
		return nil
	}
	return d.verify(given.Claim)
}

func (d *decision) verify(claim string) error {
	op := approval.Operation{Namespace: d.op.Namespace, Name: d.op.Name, UID: string(d.op.UID)}
	if d.op.Spec.Parameters != nil {
		op.Parameters = d.op.Spec.Parameters.Raw
	}
	if policy := d.op.Spec.Policy; policy != nil {
		op.Policy.RequireReady = policy.RequireReady
	}
	_, err := approval.Verify(claim, d.ApprovalSecret, op, d.Now)
	return err
}

// block holds back an operation that has not started.
func (d *decision) block(why obstacle) {
	d.plan.Status.Phase = opsv1alpha1.PhasePending
	d.set(opsv1alpha1.ConditionAccepted, false, why.accepted, why.message)
	d.set(opsv1alpha1.ConditionRunning, false, opsv1alpha1.RunningEngineNotStarted, "")
	d.set(opsv1alpha1.ConditionBlocked, true, why.blocked, why.message)
	// Nothing watches these obstacles.
	if len(d.Missing) > 0 || d.NoPlace != nil ||
		why.blocked == opsv1alpha1.BlockedAwaitingApproval && len(d.ApprovalSecret) == 0 {
		d.plan.After = lookAgain
	}
}

// refuse ends an operation that its engine can't run. Wrong parameters can still be corrected.
func (d *decision) refuse(err error) {
	var refusal *engine.RefusalError
	if !errors.As(err, &refusal) || refusal.Reason == opsv1alpha1.AcceptedValidationFailed {
		d.block(obstacle{opsv1alpha1.AcceptedValidationFailed, opsv1alpha1.BlockedValidationFailed, err.Error()})
		return
	}
	d.set(opsv1alpha1.ConditionAccepted, false, refusal.Reason, refusal.Message)
	d.end(opsv1alpha1.PhaseFailed, opsv1alpha1.FailedPrecondition, refusal.Message)
}
