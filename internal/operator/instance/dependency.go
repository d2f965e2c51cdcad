package instance

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// fluxDependencyNotReady is Flux's reason for not touching a release that waits for another one.
const fluxDependencyNotReady = "DependencyNotReady"

// dependencies observes the instances that this one waits for: the release of each, or why waiting for it is
// impossible.
func (r *Reconciler) dependencies(
	ctx context.Context, instance *appsv1alpha1.ApplicationInstance, observed *Observed,
) error {
	observed.Dependencies = map[string]string{}
	direct := len(instance.Spec.DependsOn)
	queue := slices.Clone(instance.Spec.DependsOn)
	seen := map[string]bool{}
	for i := 0; i < len(queue); i++ {
		name := queue[i].Name
		if seen[name] {
			continue
		}
		seen[name] = true
		on, err := readInstance(ctx, r.Client, reconcile.Request{
			NamespacedName: types.NamespacedName{Namespace: instance.Namespace, Name: name},
		})
		if err != nil {
			return err
		}
		if i < direct {
			switch {
			case on == nil:
				observed.Unmet = fmt.Sprintf("spec.dependsOn names %s: there is no such instance in the namespace %s: "+
					"create it, or remove it from the list", name, instance.Namespace)
				return nil
			case on.Spec.Release == nil:
				observed.Unmet = fmt.Sprintf("spec.dependsOn names %s, a placeholder without a release: remove it from the list", name)
				return nil
			}
			observed.Dependencies[name] = on.Spec.Release.Name
		}
		if on == nil {
			continue
		}
		if slices.Contains(on.Spec.DependsOn, appsv1alpha1.LocalRef{Name: instance.Name}) {
			observed.Unmet = fmt.Sprintf("spec.dependsOn is a cycle: %s waits for %s: remove one from the other's list", name, instance.Name)
			return nil
		}
		queue = append(queue, on.Spec.DependsOn...)
	}
	return nil
}

// dependencyNotReady reports that the release waits for a dependency. What is installed keeps running.
func (p *planner) dependencyNotReady(live fluxObject) {
	ready := live.condition("Ready")
	if ready.Status != metav1.ConditionFalse || ready.Reason != fluxDependencyNotReady || p.held != "" ||
		len(p.result.Apply) > 0 {
		return
	}
	p.set(appsv1alpha1.ConditionReady, metav1.ConditionUnknown, appsv1alpha1.ReadyDependencyNotReady, ready.Message)
	reason := live.phase(appsv1alpha1.ReconcilingInstalling, appsv1alpha1.ReconcilingUpgrading)
	p.set(appsv1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, ready.Message)
	p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionFalse, appsv1alpha1.DegradedRecovered, "")
}
