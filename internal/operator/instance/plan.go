package instance

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/health"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/transition"
)

// Result is a decision of Plan. A reconcile carries it out in the order of the fields; a crash between any two
// converges.
type Result struct {
	// AddFinalizer adds the finalizer, before any child exists.
	AddFinalizer bool
	// Apply are the objects to apply.
	Apply []*unstructured.Unstructured
	// Delete are the live objects to delete.
	Delete []*unstructured.Unstructured
	// TakeOver are the field managers whose fields Apply takes over.
	TakeOver []string
	// Request asks Flux to reconcile.
	Request Request
	// Tree names the release's objects, which are to be read from now on; nil ends that.
	Tree *health.Wanted
	// Status is the new status, computed only from what was observed.
	Status appsv1alpha1.ApplicationInstanceStatus
	// Events are the transitions of conditions from the instance's current status to Status.
	Events []Event
	// RemoveFinalizer removes the finalizer, once nothing is left to delete.
	RemoveFinalizer bool
	// After is the time until the next plan if nothing changes before: the opening of the maintenance window. Zero means
	// never.
	After time.Duration
}

// Event is a transition of a condition.
type Event = transition.Event

// Plan returns what to do for an instance. An instance only ever waits for an event of a watched object, or for its
// maintenance window.
func Plan(instance *appsv1alpha1.ApplicationInstance, observed *Observed, now time.Time) Result {
	p := &planner{instance: instance, observed: observed, now: now}
	p.result.Status = withoutHealth(instance.Status)
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

// planner builds a result.
type planner struct {
	instance *appsv1alpha1.ApplicationInstance
	observed *Observed
	now      time.Time
	result   Result
	// held says why changes are not applied now; empty if they are.
	held string
	// conditions are the conditions of this plan, by type.
	conditions []metav1.Condition
}

// set sets a condition, unless this plan has set it before.
func (p *planner) set(kind string, status metav1.ConditionStatus, reason, message string) {
	if slices.ContainsFunc(p.conditions, func(c metav1.Condition) bool { return c.Type == kind }) {
		return
	}
	p.conditions = append(p.conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: limit(message, 32768), ObservedGeneration: p.instance.Generation,
	})
}

// setRemainingFalse marks every condition not yet set as False.
func (p *planner) setRemainingFalse() {
	p.set(appsv1alpha1.ConditionReconciling, metav1.ConditionFalse, appsv1alpha1.ReconcilingStable, "")
	p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionFalse, appsv1alpha1.DegradedRecovered, "")
	p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionFalse, appsv1alpha1.BlockedUnblocked, "")
	p.set(appsv1alpha1.ConditionSuspended, metav1.ConditionFalse, appsv1alpha1.SuspendedActive, "")
	p.result.Status.ObservedGeneration = p.instance.Generation
}

// placeholder plans an instance with nothing to install.
func (p *planner) placeholder() {
	p.set(appsv1alpha1.ConditionReady, metav1.ConditionTrue, appsv1alpha1.ReadyPlaceholder, "")
	p.result.Status.HelmReleaseRef, p.result.Status.LastAppliedChart, p.result.Status.Endpoints = nil, nil, nil
	p.result.Status.Inventory, p.result.Status.InventoryCount = nil, 0
	p.result.Status.History, p.result.Status.LastRevision = nil, nil
	p.setRemainingFalse()
}

// managed plans an instance with a chart and a release.
func (p *planner) managed() {
	defer p.setRemainingFalse()
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
		p.blocked(p.observed.FailureReason, p.observed.Failure)
	default:
		p.apply(children)
		p.takeOver(children)
		p.replaced(children)
		p.hold(children)
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
	reported := p.translate(children[0], children[1])
	p.history(reported)
	p.tree(live, reported)
}

// denied plans an instance that the operator may not work on. What it has installed stays and is reported.
func (p *planner) denied() {
	defer p.setRemainingFalse()
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
	if len(p.outstanding(children)) > 0 { // the ready release is not the one of the spec
		p.unready(appsv1alpha1.BlockedPolicyDenied, p.observed.Denied.Message)
	}
	p.translate(children[0], children[1])
}

// blocked reports that the instance isn't installed as specified and won't be before a person changes something.
func (p *planner) blocked(reason, message string) {
	p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, reason, message)
	p.unready(reason, message)
}

// unready reports that the instance isn't installed as specified.
func (p *planner) unready(reason, message string) {
	p.set(appsv1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	p.set(appsv1alpha1.ConditionReconciling, metav1.ConditionFalse, appsv1alpha1.ReconcilingStable, "")
}

// foreign returns a message about a child that can't be applied because an object with its name has another controller,
// or an empty one.
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

// apply plans to apply the objects that were not yet applied in their desired form. An object that is being deleted is
// applied again once it is gone.
func (p *planner) apply(children []*unstructured.Unstructured) {
	p.result.Apply = append(p.result.Apply, p.outstanding(children)...)
}

// outstanding returns the children that are not applied in their desired form.
func (p *planner) outstanding(children []*unstructured.Unstructured) (all []*unstructured.Unstructured) {
	for _, child := range children {
		if p.isOutstanding(child) {
			all = append(all, child)
		}
	}
	return all
}

// isOutstanding reports whether a child is not applied in its desired form. A child that is being deleted isn't: it is
// waited for.
func (p *planner) isOutstanding(child *unstructured.Unstructured) bool {
	live := p.observed.child(child.GroupVersionKind(), child.GetName())
	return live == nil ||
		live.GetDeletionTimestamp() == nil &&
			live.GetAnnotations()[identity.AnnotationIntent] != child.GetAnnotations()[identity.AnnotationIntent]
}

// replaced plans to delete the instance's own objects that are no longer desired: the source of another type. A source
// is deleted once the HelmRelease no longer refers to it.
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
