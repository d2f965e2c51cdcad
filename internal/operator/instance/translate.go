package instance

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// Flux's reasons for a HelmRelease that is not ready.
const (
	fluxArtifactFailed = "ArtifactFailed"
	fluxSourceNotReady = "SourceNotReady"
	fluxValuesError    = "ValuesError"
)

// A HelmRelease's messages about a source that is not ready yet without having failed.
const (
	fluxNotReconciled = "latest generation of object has not been reconciled"
	fluxNoArtifact    = "does not have an artifact"
)

// waiting is the message for every step under way. Reports on the source and the release arrive in either order, and
// an intermediate step isn't worth a write: an installation writes the status when it begins and when it ends.
const waiting = "waiting for Flux to fetch the chart and to reconcile the HelmRelease"

// fluxState holds Flux's reports on an instance's release and its source, with what is needed to understand them.
type fluxState struct {
	source, release fluxObject
	// oci is set if the source has a single chart. Then the source, not the HelmRelease, has the version.
	oci bool
	// version is the version to install. values says where its values are.
	version string
	values  appsv1alpha1.ValuesSource
	// applying is set while the source or the release isn't applied in its desired form. held is the reason why the
	// apply waits; empty if it doesn't wait.
	applying bool
	held     string
	// wasReady is set if the instance was ready in its current generation.
	wasReady bool
}

// translate translates Flux's reports into the instance's conditions. It is a pure function, whose table is
// testdata/translation.txt. A condition that it doesn't return is False.
func translate(f fluxState) (all []metav1.Condition) {
	add := func(kind string, status metav1.ConditionStatus, reason, message string) {
		all = append(all, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
	if f.release.suspended() {
		add(appsv1alpha1.ConditionSuspended, metav1.ConditionTrue, appsv1alpha1.SuspendedManually, "HelmRelease "+f.release.GetName()+" has spec.suspend: true")
	}
	if reason, message := f.degraded(); reason != "" {
		add(appsv1alpha1.ConditionDegraded, metav1.ConditionTrue, reason, message)
	}
	if reason, message := f.blocked(); reason != "" {
		add(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, reason, message)
	}
	status, reason, message := f.ready()
	add(appsv1alpha1.ConditionReady, status, reason, message)
	if reason, message := f.reconciling(); reason != "" {
		add(appsv1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	}
	return all
}

// said returns a condition of the release, unless it concerns another chart than the one to install.
func (f fluxState) said(kind string) metav1.Condition {
	if f.outdated() {
		return metav1.Condition{}
	}
	return f.release.condition(kind)
}

// failure returns why the release failed and what Flux does about it; empty if it did not fail.
func (f fluxState) failure() string {
	released, stalled := f.said("Released"), f.said("Stalled")
	if released.Status != metav1.ConditionFalse && stalled.Status != metav1.ConditionTrue {
		return ""
	}
	message := cmp.Or(released.Message, stalled.Message)
	if released.Status != metav1.ConditionFalse {
		message = stalled.Message
	}
	var then []string
	if remediated := f.said("Remediated"); remediated.Status == metav1.ConditionTrue {
		then = append(then, "Flux has undone it: "+cmp.Or(remediated.Message, remediated.Reason))
	}
	switch {
	case stalled.Status == metav1.ConditionTrue:
		then = append(then, "Flux does not try again before the spec changes")
	case f.said("Reconciling").Status == metav1.ConditionTrue:
		then = append(then, "Flux tries again")
	}
	return strings.Join(append([]string{message}, then...), ". ")
}

// degraded reports what failed. A failed release ranks above a chart that can't be fetched.
func (f fluxState) degraded() (reason, message string) {
	if why := f.failure(); why != "" {
		return appsv1alpha1.DegradedHelmReleaseFailed, why
	}
	if unreachable, why := f.unreachable(); unreachable {
		return appsv1alpha1.DegradedChartUnreachable, why
	}
	if ready := f.said("Ready"); ready.Status == metav1.ConditionFalse && ready.Reason != fluxSourceNotReady &&
		f.release.installed() {
		return appsv1alpha1.DegradedHelmRelease, ready.Message
	}
	return "", ""
}

// blocked reports that Flux can't read the values.
func (f fluxState) blocked() (reason, message string) {
	ready := f.said("Ready")
	if ready.Status != metav1.ConditionFalse || ready.Reason != fluxValuesError {
		return "", ""
	}
	switch f.values {
	case appsv1alpha1.ValuesSecret:
		return appsv1alpha1.BlockedMissingSecret, ready.Message
	case appsv1alpha1.ValuesConfigMap:
		return appsv1alpha1.BlockedMissingConfigMap, ready.Message
	case appsv1alpha1.ValuesInline: // inline values can't be missing
	}
	return "", ""
}

// ready reports whether the release is installed as specified.
func (f fluxState) ready() (status metav1.ConditionStatus, reason, message string) {
	ready := f.said("Ready")
	unreachable, why := f.unreachable()
	failure := f.failure()
	switch {
	case f.held != "" && ready.Status != metav1.ConditionFalse:
		return metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, f.held
	case f.release.suspended() && f.release.lags() && ready.Status != metav1.ConditionFalse && !f.applying &&
		!f.release.deleting():
		return f.readyAsBefore()
	case f.pending():
		return metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, waiting
	case unreachable && (f.outdated() || ready.Status == metav1.ConditionFalse):
		return metav1.ConditionFalse, appsv1alpha1.ReadyChartUnreachable, why
	case f.outdated(), ready.Reason == fluxSourceNotReady:
		return metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, waiting
	case ready.Status == metav1.ConditionTrue && f.said("Reconciling").Status == metav1.ConditionTrue && !f.wasReady:
		// An action has begun; Ready still describes the previous one.
		return metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, waiting
	case ready.Status == metav1.ConditionTrue:
		return metav1.ConditionTrue, appsv1alpha1.ReadyHelmReleaseReady, ready.Message
	case failure != "": // even while Flux retries
		return metav1.ConditionFalse, appsv1alpha1.ReadyHelmReleaseFailed, failure
	case ready.Status == metav1.ConditionFalse:
		return metav1.ConditionFalse, appsv1alpha1.ReadyHelmReleaseFailed, ready.Message
	}
	return metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, waiting
}

// readyAsBefore reports on a release that was suspended since Flux's last report: a ready release stays ready until
// something else should be installed.
func (f fluxState) readyAsBefore() (status metav1.ConditionStatus, reason, message string) {
	if f.wasReady && f.said("Ready").Status == metav1.ConditionTrue {
		return metav1.ConditionTrue, appsv1alpha1.ReadyHelmReleaseReady, "as it was when HelmRelease " + f.release.GetName() + " was suspended"
	}
	return metav1.ConditionUnknown, appsv1alpha1.ReadyReconciling, "HelmRelease " + f.release.GetName() + " is suspended: Flux acts on it once it is resumed"
}

// reconciling reports whether Flux is working, or expected to.
func (f fluxState) reconciling() (reason, message string) {
	ready, work := f.said("Ready"), f.said("Reconciling").Status == metav1.ConditionTrue
	unreachable, _ := f.unreachable()
	busy := f.pending() || f.outdated() && !unreachable || work || ready.Status == metav1.ConditionUnknown ||
		ready.Reason == fluxSourceNotReady && !unreachable
	if !busy || f.release.suspended() || f.held != "" && !work {
		return "", ""
	}
	return f.release.phase(appsv1alpha1.ReconcilingInstalling, appsv1alpha1.ReconcilingUpgrading), waiting
}

// pending reports whether Flux's report doesn't describe the desired release yet.
func (f fluxState) pending() bool {
	return f.release.absent() || f.release.deleting() || f.applying || f.release.condition("Ready").Status == ""
}

// outdated reports whether Flux's report on the release describes another chart than the source should fetch. An
// upgrade of an OCI chart changes only the source: the HelmRelease keeps its generation, and reports the success or
// failure of the previous chart.
func (f fluxState) outdated() bool {
	if !f.oci {
		return false
	}
	if attempted := f.release.status("lastAttemptedRevision"); attempted != "" && !identity.SameVersion(f.version, attempted) {
		return true
	}
	revision, digest := f.source.status("artifact", "revision"), f.release.status("lastAttemptedRevisionDigest")
	return f.source.condition("Ready").Status == "" || revision != "" && digest != "" && !strings.HasSuffix(revision, digest)
}

// unreachable reports whether the chart can't be fetched, and why.
func (f fluxState) unreachable() (is bool, why string) {
	if ready := f.said("Ready"); ready.Status == metav1.ConditionFalse && ready.Reason == fluxArtifactFailed {
		return true, ready.Message
	}
	if ready := f.source.condition("Ready"); ready.Status == metav1.ConditionFalse {
		return true, ready.Message
	}
	why = f.chartFailure()
	return why != "", why
}

// chartFailure returns why a working HelmRepository can't provide the chart, such as a missing version; empty if
// unknown. Flux's HelmChart has this failure, and the HelmRelease repeats it.
func (f fluxState) chartFailure() string {
	ready := f.said("Ready")
	if f.oci || ready.Status != metav1.ConditionFalse || ready.Reason != fluxSourceNotReady {
		return ""
	}
	_, why, _ := strings.Cut(ready.Message, " is not ready: ")
	switch {
	case why == fluxNotReconciled, why == fluxNoArtifact:
		return "" // the HelmChart is being made
	case strings.Contains(why, "version matching '") && !strings.Contains(why, "version matching '"+f.version+"'"):
		return "" // it concerns the previously desired version
	}
	return why
}
