package instance

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// deletion deletes first the HelmRelease, so that Flux uninstalls the release, and then the other children. The
// instance stays until all are gone, so that a new one with its name can't meet them. Objects that the instance doesn't
// own stay.
func (p *planner) deletion() {
	if !slices.Contains(p.instance.Finalizers, identity.FinalizerInstance) {
		return
	}
	var left, releases []*unstructured.Unstructured
	for _, live := range p.observed.Children {
		if !p.owns(live) {
			continue
		}
		left = append(left, live)
		if live.GroupVersionKind() == kindHelmRelease {
			releases = append(releases, live)
		}
	}
	if len(left) == 0 {
		p.result.RemoveFinalizer = true
		return
	}
	next := left
	if len(releases) > 0 {
		next = releases
	}
	for _, live := range next {
		if live.GetDeletionTimestamp() == nil {
			p.result.Delete = append(p.result.Delete, live)
		}
	}
	if len(p.result.Delete) > 0 && len(next) == len(releases) {
		p.set(appsv1alpha1.ConditionDeleting, metav1.ConditionTrue, appsv1alpha1.DeletingUninstalling, "")
	}
	var names []string
	for _, live := range left {
		names = append(names, live.GetKind()+" "+live.GetName())
	}
	p.set(appsv1alpha1.ConditionDeleting, metav1.ConditionTrue, appsv1alpha1.DeletingWaiting,
		fmt.Sprintf("waiting until %s is gone", strings.Join(names, ", ")))
	p.result.Status.ObservedGeneration = p.instance.Generation
}
