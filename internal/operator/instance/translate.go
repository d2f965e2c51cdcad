package instance

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// Reasons by which Flux says why a HelmRelease is not ready.
const (
	fluxArtifactFailed = "ArtifactFailed"
	fluxSourceNotReady = "SourceNotReady"
	fluxValuesError    = "ValuesError"
)

// translate says in the instance's words what Flux says of the live release and its source. The conditions are independent
// of each other: each is a function of what Flux says now, never of what the instance said before.
func (p *planner) translate(source, release *unstructured.Unstructured) {
	liveSource := fluxObject{p.observed.child(source.GroupVersionKind(), source.GetName())}
	live := fluxObject{p.observed.child(kindHelmRelease, release.GetName())}
	p.references(live, release)
	p.suspended(live)
	p.degraded(live, liveSource)
	p.drifted(source, release)
	p.missingValues(live)
	p.ready(live, liveSource)
	p.reconciling(live, liveSource)
	p.endpoints()
}

// references says which HelmRelease there is and what it was applied with.
func (p *planner) references(live fluxObject, release *unstructured.Unstructured) {
	status := &p.result.Status
	if live.absent() || !p.owns(live.Unstructured) {
		status.HelmReleaseRef = nil
		return
	}
	status.HelmReleaseRef = &appsv1alpha1.ObjectRef{Name: live.GetName(), Namespace: live.GetNamespace()}
	if live.GetAnnotations()[annotationIntent] == release.GetAnnotations()[annotationIntent] {
		chart := p.instance.Spec.Chart
		status.LastAppliedChart = &appsv1alpha1.AppliedChart{SourceType: chart.SourceType, URL: chart.URL, Name: chart.Name, Version: p.version()}
	}
}

// suspended says whether a person has suspended the HelmRelease.
func (p *planner) suspended(live fluxObject) {
	if live.suspended() {
		p.set(appsv1alpha1.ConditionSuspended, metav1.ConditionTrue, appsv1alpha1.SuspendedManually,
			"HelmRelease "+live.GetName()+" has spec.suspend: true")
	}
}

// degraded says what failed. A failed release counts more than a chart that can't be fetched.
func (p *planner) degraded(live, source fluxObject) {
	if released := live.condition("Released"); released.Status == metav1.ConditionFalse {
		p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionTrue, appsv1alpha1.DegradedHelmReleaseFailed, released.Message)
	}
	if stalled := live.condition("Stalled"); stalled.Status == metav1.ConditionTrue {
		p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionTrue, appsv1alpha1.DegradedHelmReleaseFailed, stalled.Message)
	}
	if unreachable, message := chartUnreachable(live, source); unreachable {
		p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionTrue, appsv1alpha1.DegradedChartUnreachable, message)
	}
	ready := live.condition("Ready")
	if ready.Status == metav1.ConditionFalse && ready.Reason != fluxSourceNotReady && live.installed() {
		p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionTrue, appsv1alpha1.DegradedHelmRelease, ready.Message)
	}
}

// drifted says which fields of the children others have changed since they were applied.
func (p *planner) drifted(children ...*unstructured.Unstructured) {
	var found []string
	for _, child := range children {
		live := p.observed.child(child.GroupVersionKind(), child.GetName())
		if live == nil || live.GetAnnotations()[annotationIntent] != child.GetAnnotations()[annotationIntent] {
			continue // it is applied anyway
		}
		for _, path := range differences("", child.Object, live.Object) {
			found = append(found, path+" of "+child.GetKind()+" "+child.GetName())
		}
	}
	if len(found) > 0 {
		p.set(appsv1alpha1.ConditionDegraded, metav1.ConditionTrue, appsv1alpha1.DegradedDrifted,
			"changed by another manager: "+strings.Join(found, ", ")+". The operator reports it and leaves it as it is")
	}
}

// missingValues says that Flux can't read the values.
func (p *planner) missingValues(live fluxObject) {
	ready := live.condition("Ready")
	if ready.Status != metav1.ConditionFalse || ready.Reason != fluxValuesError {
		return
	}
	switch p.instance.Spec.Values.Source {
	case appsv1alpha1.ValuesSecret:
		p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, appsv1alpha1.BlockedMissingSecret, ready.Message)
	case appsv1alpha1.ValuesConfigMap:
		p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, appsv1alpha1.BlockedMissingConfigMap, ready.Message)
	case appsv1alpha1.ValuesInline: // there is nothing to be missing
	}
}

// ready says whether the release is installed as the spec says.
func (p *planner) ready(live, source fluxObject) {
	const kind = appsv1alpha1.ConditionReady
	// One message: reports of the source and the release arrive in either order, and each is no news for itself.
	const waiting = "waiting for Flux to fetch the chart and to reconcile the HelmRelease"
	ready := live.condition("Ready")
	unreachable, why := chartUnreachable(live, source)
	outdated := p.outdated(live, source)
	switch {
	case p.held != "" && ready.Status != metav1.ConditionFalse:
		p.set(kind, metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, p.held)
	case p.pending(live):
		p.set(kind, metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, waiting)
	case unreachable && (outdated || ready.Status == metav1.ConditionFalse):
		p.set(kind, metav1.ConditionFalse, appsv1alpha1.ReadyChartUnreachable, why)
	case ready.Status == metav1.ConditionFalse && ready.Reason == fluxSourceNotReady:
		p.set(kind, metav1.ConditionFalse, live.phase(appsv1alpha1.ReadyInstalling, appsv1alpha1.ReadyUpgrading), ready.Message)
	case outdated:
		p.set(kind, metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, waiting)
	case ready.Status == metav1.ConditionTrue:
		p.set(kind, metav1.ConditionTrue, appsv1alpha1.ReadyHelmReleaseReady, ready.Message)
	case ready.Status == metav1.ConditionFalse:
		p.set(kind, metav1.ConditionFalse, appsv1alpha1.ReadyHelmReleaseFailed, ready.Message)
	default:
		p.set(kind, metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, ready.Message)
	}
}

// reconciling says whether Flux is at work, or is expected to be.
func (p *planner) reconciling(live, source fluxObject) {
	const kind = appsv1alpha1.ConditionReconciling
	ready, work := live.condition("Ready"), live.condition("Reconciling")
	unreachable, _ := chartUnreachable(live, source)
	busy := p.pending(live) || p.outdated(live, source) && !unreachable || work.Status == metav1.ConditionTrue || ready.Status == metav1.ConditionUnknown || ready.Reason == fluxSourceNotReady
	if !busy || live.suspended() || p.held != "" && work.Status != metav1.ConditionTrue {
		return
	}
	reason := live.phase(appsv1alpha1.ReconcilingInstalling, appsv1alpha1.ReconcilingUpgrading)
	if ready.Reason == fluxSourceNotReady || !source.absent() && source.condition("Reconciling").Status == metav1.ConditionTrue {
		reason = appsv1alpha1.ReconcilingChartSource
	}
	p.set(kind, metav1.ConditionTrue, reason, work.Message)
}

// pending returns whether what Flux says is not yet of the desired release.
func (p *planner) pending(live fluxObject) bool {
	return live.absent() || live.GetDeletionTimestamp() != nil || len(p.result.Apply) > 0 || live.condition("Ready").Status == ""
}

// outdated returns whether what Flux says of the release is of another chart than the source is to fetch. An upgrade of an OCI
// chart changes the source alone: the HelmRelease has the same generation, and says that it is ready, of the chart before.
// Flux appends a part of the digest to an OCI chart's version in place of build metadata, so that is left out here.
func (p *planner) outdated(live, source fluxObject) bool {
	if p.instance.Spec.Chart.SourceType != appsv1alpha1.ChartSourceOCI {
		return false
	}
	if attempted := live.status("lastAttemptedRevision"); attempted != "" && plainVersion(attempted) != plainVersion(p.version()) {
		return true
	}
	revision, digest := source.status("artifact", "revision"), live.status("lastAttemptedRevisionDigest")
	return source.condition("Ready").Status == "" || revision != "" && digest != "" && !strings.HasSuffix(revision, digest)
}

func plainVersion(version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	return version
}

// version returns the version to install: the spec's, or an upgrade's.
func (p *planner) version() string {
	if upgrade := p.observed.Upgrade; upgrade != nil && upgrade.Version != "" {
		return upgrade.Version
	}
	return p.instance.Spec.Chart.Version
}

// endpoints are the declared address of an application that is ready.
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

// chartUnreachable returns whether the chart can't be fetched, and why.
func chartUnreachable(live, source fluxObject) (bool, string) {
	if ready := live.condition("Ready"); ready.Status == metav1.ConditionFalse && ready.Reason == fluxArtifactFailed {
		return true, ready.Message
	}
	ready := source.condition("Ready")
	return ready.Status == metav1.ConditionFalse, ready.Message
}
