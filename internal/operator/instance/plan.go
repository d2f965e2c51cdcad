package instance

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/transition"
	"tend.dev/tend/internal/operator/window"
)

// Result is what Plan decides. A reconcile does it in the order of the fields; a crash between any two converges.
type Result struct {
	// AddFinalizer is whether the finalizer must be added, before there is any child.
	AddFinalizer bool
	// Apply are the objects to apply.
	Apply []*unstructured.Unstructured
	// Delete are live objects to delete.
	Delete []*unstructured.Unstructured
	// TakeOver are the field managers whose fields Apply takes over.
	TakeOver []string
	// Request asks Flux to reconcile.
	Request Request
	// Status is what the status should be, from what was observed alone.
	Status appsv1alpha1.ApplicationInstanceStatus
	// Events are the transitions of conditions from the instance's status to Status.
	Events []Event
	// RemoveFinalizer is whether nothing is left to delete.
	RemoveFinalizer bool
	// After is when to plan again, if nothing changes before: when the maintenance window opens. Zero is never.
	After time.Duration
}

// Event is a transition of a condition.
type Event = transition.Event

// Plan returns what to do for an instance. What an instance waits for is an event of an object that is watched, or its
// maintenance window.
func Plan(instance *appsv1alpha1.ApplicationInstance, observed *Observed, now time.Time) Result {
	p := &planner{instance: instance, observed: observed, now: now}
	p.result.Status = *instance.Status.DeepCopy()
	p.result.AddFinalizer = instance.DeletionTimestamp == nil && observed.Denied == nil &&
		!slices.Contains(instance.Finalizers, identity.FinalizerInstance)
	switch {
	case instance.DeletionTimestamp != nil:
		p.deletion()
	case instance.Annotations[identity.AnnotationReconcile] == identity.ReconcileDisabled:
		p.set(appsv1alpha1.ConditionSuspended, metav1.ConditionTrue, appsv1alpha1.SuspendedReconcilePaused,
			"the annotation "+identity.AnnotationReconcile+" is "+identity.ReconcileDisabled+": remove it to continue")
	case observed.Denied != nil:
		p.denied()
	case instance.Spec.Mode == appsv1alpha1.ModePlaceholder:
		p.placeholder()
	default:
		p.managed()
	}
	p.finish(now)
	return p.result
}

// planner collects a result.
type planner struct {
	instance *appsv1alpha1.ApplicationInstance
	observed *Observed
	now      time.Time
	result   Result
	// held is why changes are not applied now, or "".
	held string
	// conditions are those of this plan, by type.
	conditions []metav1.Condition
}

// set says what a condition is. The first word of a plan about a condition counts.
func (p *planner) set(kind string, status metav1.ConditionStatus, reason, message string) {
	if slices.ContainsFunc(p.conditions, func(c metav1.Condition) bool { return c.Type == kind }) {
		return
	}
	p.conditions = append(p.conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: limit(message, 32768), ObservedGeneration: p.instance.Generation,
	})
}

// rest says of conditions that nothing was said of that they are false.
func (p *planner) rest() {
	p.set(appsv1alpha1.ConditionReconciling, metav1.ConditionFalse, appsv1alpha1.ReconcilingStable, "")
	p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionFalse, appsv1alpha1.DegradedRecovered, "")
	p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionFalse, appsv1alpha1.BlockedUnblocked, "")
	p.set(appsv1alpha1.ConditionSuspended, metav1.ConditionFalse, appsv1alpha1.SuspendedActive, "")
	p.result.Status.ObservedGeneration = p.instance.Generation
}

// placeholder is an instance with nothing to install.
func (p *planner) placeholder() {
	p.set(appsv1alpha1.ConditionReady, metav1.ConditionTrue, appsv1alpha1.ReadyPlaceholder, "")
	p.result.Status.HelmReleaseRef, p.result.Status.LastAppliedChart, p.result.Status.Endpoints = nil, nil, nil
	p.result.Status.Inventory, p.result.Status.InventoryCount = nil, 0
	p.rest()
}

// managed is an instance with a chart and a release.
func (p *planner) managed() {
	defer p.rest()
	if fault := invalid(p.instance); fault != "" {
		p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, appsv1alpha1.BlockedValidationFailed, fault)
		p.set(appsv1alpha1.ConditionReady, metav1.ConditionFalse, appsv1alpha1.BlockedValidationFailed, fault)
		return
	}
	if len(p.observed.Absent) > 0 {
		p.blocked(appsv1alpha1.BlockedMissingDependencies, fmt.Sprintf("the cluster does not serve %s: install Flux 2.6 or later", p.observed.Absent[0]))
		return
	}
	if p.observed.Unmet != "" {
		p.blocked(appsv1alpha1.BlockedMissingDependencies, p.observed.Unmet)
		return
	}
	children, err := desired(p.instance, p.observed)
	if err != nil {
		p.blocked(appsv1alpha1.BlockedValidationFailed, err.Error())
		return
	}
	if fault := p.foreign(children); fault != "" {
		p.blocked(appsv1alpha1.BlockedForeignObject, fault)
		return
	}
	switch {
	case len(p.observed.Refused) > 0:
		p.blocked(appsv1alpha1.BlockedFieldConflict, p.refusals(p.observed.Refused))
	case p.observed.Failure != "":
		p.unready(appsv1alpha1.ReadyHelmReleaseFailed, p.observed.Failure)
	default:
		p.apply(children)
		p.takeOver(children)
		p.replaced(children)
		p.hold()
		p.tookOver()
		p.request(children)
	}
	live := fluxObject{p.observed.child(kindHelmRelease, children[1].GetName())}
	p.result.Status.Inventory, p.result.Status.InventoryCount = inventoryOf(live)
	p.dependencyNotReady(live)
	p.missingReference(live)
	if p.instance.Spec.Suspend && live.suspended() {
		p.set(appsv1alpha1.ConditionSuspended, metav1.ConditionTrue, appsv1alpha1.SuspendedManually, "spec.suspend is true: set it to false to continue")
	}
	p.translate(children[0], children[1])
}

// denied is an instance that the operator may not work on. What it has installed before stays, and is reported.
func (p *planner) denied() {
	defer p.rest()
	p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, appsv1alpha1.BlockedPolicyDenied, p.observed.Denied.Message)
	if p.instance.Spec.Chart == nil || !slices.ContainsFunc(p.observed.Children, p.owns) {
		p.unready(appsv1alpha1.BlockedPolicyDenied, p.observed.Denied.Message)
		return
	}
	children, err := desired(p.instance, p.observed)
	if err != nil {
		p.unready(appsv1alpha1.BlockedPolicyDenied, p.observed.Denied.Message)
		return
	}
	if len(p.outstanding(children)) > 0 { // what is ready is not what the spec says
		p.unready(appsv1alpha1.BlockedPolicyDenied, p.observed.Denied.Message)
	}
	p.translate(children[0], children[1])
}

// blocked is an instance that isn't installed as its spec says, and won't be before a person changes something.
func (p *planner) blocked(reason, message string) {
	p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, reason, message)
	p.unready(reason, message)
}

// unready is an instance that isn't installed as its spec says.
func (p *planner) unready(reason, message string) {
	p.set(appsv1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	p.set(appsv1alpha1.ConditionReconciling, metav1.ConditionFalse, appsv1alpha1.ReconcilingStable, "")
}

// foreign returns which child can't be applied because an object of its name has another controller.
func (p *planner) foreign(children []*unstructured.Unstructured) string {
	for _, child := range children {
		live := p.observed.child(child.GroupVersionKind(), child.GetName())
		if live == nil {
			continue
		}
		if owner := metav1.GetControllerOf(live); owner != nil && owner.UID != p.instance.UID {
			return fmt.Sprintf("%s %s belongs to %s %s: delete it, or choose another release.name", live.GetKind(), live.GetName(), owner.Kind, owner.Name)
		}
	}
	return ""
}

// apply plans the objects that were never applied as they are desired now. One that is being deleted is applied again when
// it is gone.
func (p *planner) apply(children []*unstructured.Unstructured) {
	p.result.Apply = append(p.result.Apply, p.outstanding(children)...)
}

// outstanding returns the children that are not applied as they should be.
func (p *planner) outstanding(children []*unstructured.Unstructured) (all []*unstructured.Unstructured) {
	for _, child := range children {
		if p.isOutstanding(child) {
			all = append(all, child)
		}
	}
	return all
}

// isOutstanding returns whether a child is not applied as it should be. One that is being deleted is waited for.
func (p *planner) isOutstanding(child *unstructured.Unstructured) bool {
	live := p.observed.child(child.GroupVersionKind(), child.GetName())
	return live == nil || live.GetDeletionTimestamp() == nil && live.GetAnnotations()[identity.AnnotationIntent] != child.GetAnnotations()[identity.AnnotationIntent]
}

// replaced plans the deletion of the instance's own objects that it does not want any more: the source of another type. It
// goes once the HelmRelease does not refer to it.
func (p *planner) replaced(children []*unstructured.Unstructured) {
	if len(p.result.Apply) > 0 {
		return
	}
	for _, live := range p.observed.Children {
		wanted := slices.ContainsFunc(children, func(c *unstructured.Unstructured) bool {
			return c.GroupVersionKind() == live.GroupVersionKind() && c.GetName() == live.GetName()
		})
		if !wanted && p.owns(live) && live.GetDeletionTimestamp() == nil {
			p.result.Delete = append(p.result.Delete, live)
		}
	}
}

// hold keeps what would change an installed release until the maintenance window opens. A first installation, and an Upgrade
// that runs because it was started in the window, are not held. A window that can't be read is closed.
func (p *planner) hold() {
	declared, err := window.Of(p.instance.Annotations)
	if err != nil {
		p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, appsv1alpha1.BlockedValidationFailed, err.Error())
	}
	opens := declared.Opens(p.now)
	change := len(p.result.Apply)+len(p.result.Delete) > 0
	first := p.observed.child(kindHelmRelease, p.instance.Spec.Release.Name) == nil
	upgrading := p.observed.Upgrade != nil && p.observed.Upgrade.Running
	if !change || first || upgrading || err == nil && opens.IsZero() {
		return
	}
	p.held = "a change waits: " + identity.AnnotationMaintenanceWindow + " is wrong"
	if err == nil {
		p.held = "a change waits for the maintenance window, which opens at " + opens.Format(time.RFC3339)
		p.result.After = opens.Sub(p.now)
	}
	p.result.Apply, p.result.Delete = nil, nil
	p.set(appsv1alpha1.ConditionSuspended, metav1.ConditionTrue, appsv1alpha1.SuspendedMaintenanceWindow, p.held)
}
