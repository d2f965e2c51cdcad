package instance

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
)

// translate sets the conditions from Flux's report on the live release and its source, and for drift. It returns the
// report.
func (p *planner) translate(source, release *unstructured.Unstructured) fluxState {
	live := fluxObject{p.observed.child(kindHelmRelease, release.GetName())}
	p.references(live, release)
	was := meta.FindStatusCondition(p.instance.Status.Conditions, appsv1alpha1.ConditionReady)
	reported := fluxState{
		source: fluxObject{p.observed.child(source.GroupVersionKind(), source.GetName())}, release: live,
		oci: p.instance.Spec.Chart.SourceType == appsv1alpha1.ChartSourceOCI, version: p.version(),
		values:   p.instance.Spec.Values.Source,
		applying: len(p.result.Apply) > 0, held: p.held,
		wasReady: was != nil && was.Status == metav1.ConditionTrue && was.ObservedGeneration == p.instance.Generation,
	}
	for _, c := range translate(reported) {
		p.set(c.Type, c.Status, c.Reason, c.Message)
	}
	p.drifted(source, release)
	p.endpoints()
	return reported
}

// references records the existing HelmRelease and the chart that was applied.
func (p *planner) references(live fluxObject, release *unstructured.Unstructured) {
	status := &p.result.Status
	if live.absent() || !p.owns(live.Unstructured) {
		status.HelmReleaseRef = nil
		return
	}
	status.HelmReleaseRef = &appsv1alpha1.ObjectRef{Name: live.GetName(), Namespace: live.GetNamespace()}
	if live.GetAnnotations()[identity.AnnotationIntent] == release.GetAnnotations()[identity.AnnotationIntent] {
		chart := p.instance.Spec.Chart
		status.LastAppliedChart = &appsv1alpha1.AppliedChart{
			SourceType: chart.SourceType, URL: chart.URL, Name: chart.Name, Version: p.version(),
		}
	}
}

// drifted reports the fields of the children that others have changed since the apply.
func (p *planner) drifted(children ...*unstructured.Unstructured) {
	var found []string
	for _, child := range children {
		live := p.observed.child(child.GroupVersionKind(), child.GetName())
		if live == nil ||
			live.GetAnnotations()[identity.AnnotationIntent] != child.GetAnnotations()[identity.AnnotationIntent] {
			continue // it will be applied anyway
		}
		for _, difference := range apply.Differences(child.Object, live.Object) {
			found = append(found, difference.Field()+" of "+child.GetKind()+" "+child.GetName())
		}
	}
	if len(found) > 0 {
		p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionTrue, appsv1alpha1.DegradedDrifted,
			"changed by another manager: "+strings.Join(found, ", ")+". The operator leaves it alone")
	}
}

// version returns the version to install, from the spec or an upgrade.
func (p *planner) version() string {
	if upgrade := p.observed.Upgrade; upgrade != nil && upgrade.Version != "" {
		return upgrade.Version
	}
	return p.instance.Spec.Chart.Version
}

// endpoints sets the declared address of a ready application.
func (p *planner) endpoints() {
	integrations := p.instance.Spec.Integrations
	p.result.Status.Endpoints = nil
	isReady := false
	for _, c := range p.conditions {
		isReady = isReady || c.Type == appsv1alpha1.ConditionReady && c.Status == metav1.ConditionTrue
	}
	if !isReady || integrations == nil || integrations.Ingress == nil || !integrations.Ingress.Enabled {
		return
	}
	scheme := "http://"
	if integrations.CertManager != nil && integrations.CertManager.Enabled {
		scheme = "https://"
	}
	p.result.Status.Endpoints = []appsv1alpha1.Endpoint{{Name: "ingress", URL: scheme + integrations.Ingress.Host, Type: "ingress"}}
}
