package instance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/window"
)

// hold delays changes of an installed release until the maintenance window opens. It delays no first installation, no
// Upgrade that was started in the window, and no return from one that ended without success: Flux would go on with what
// that one requested. An invalid window counts as closed.
func (p *planner) hold(children []*unstructured.Unstructured) {
	declared, err := window.Of(p.instance.Annotations)
	if err != nil {
		p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, appsv1alpha1.BlockedValidationFailed, err.Error())
	}
	opens := declared.Opens(p.now)
	change := len(p.result.Apply)+len(p.result.Delete) > 0
	first := p.observed.child(kindHelmRelease, p.instance.Spec.Release.Name) == nil
	upgrading := p.observed.Upgrade != nil && p.observed.Upgrade.Running
	if !change || first || upgrading || p.isAbandoned(children) || err == nil && opens.IsZero() {
		return
	}
	p.held = "a change waits: " + identity.AnnotationMaintenanceWindow + " is invalid"
	if err == nil {
		p.held = "a change waits for the maintenance window, which opens at " + opens.Format(time.RFC3339)
		p.result.After = opens.Sub(p.now)
	}
	p.result.Apply, p.result.Delete = nil, nil
	p.set(appsv1alpha1.ConditionSuspended, metav1.ConditionTrue, appsv1alpha1.SuspendedMaintenanceWindow, p.held)
}

// isAbandoned reports whether an object has what an Upgrade requested that has failed or was cancelled, and should have
// something else now.
func (p *planner) isAbandoned(children []*unstructured.Unstructured) bool {
	if p.observed.Upgrade == nil {
		return false
	}
	intent := func(o *unstructured.Unstructured) string { return o.GetAnnotations()[identity.AnnotationIntent] }
	for _, overlay := range p.observed.Upgrade.Abandoned {
		then := *p.observed
		then.Upgrade = &Upgrade{Version: overlay.Version, Values: overlay.Values}
		requested, err := desired(p.instance, &then)
		if err != nil {
			continue // it was never applied
		}
		for i, child := range requested {
			live := p.observed.child(child.GroupVersionKind(), child.GetName())
			if live != nil && intent(live) == intent(child) && intent(child) != intent(children[i]) {
				return true
			}
		}
	}
	return false
}
