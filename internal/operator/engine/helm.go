package engine

import (
	"cmp"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// helm observes the target's HelmRelease. The controller of ApplicationInstance writes the version and values of the
// Upgrade into it.
type helm struct{}

// UpgradeParameters are the parameters of an Upgrade by the engine helm.
type UpgradeParameters struct {
	// TargetVersion is the chart's version. A version older than the installed one is a rollback.
	TargetVersion string `json:"targetVersion"`
	// ValuesPatch is merged into the release's values, map by map.
	ValuesPatch map[string]any `json:"valuesPatch"`
}

// UpgradeOf returns the parameters of an Upgrade.
func UpgradeOf(op *opsv1alpha1.Operation) (UpgradeParameters, error) {
	return decode[UpgradeParameters](Request{Operation: op})
}

func (helm) Subject(req Request) (Subject, error) {
	if ref := req.Operation.Status.EngineRef; ref != nil {
		return Subject{GroupVersionKind: KindHelmRelease, Namespace: ref.Namespace, Name: ref.Name}, nil
	}
	if req.Target == nil || req.Target.Spec.Release == nil {
		return Subject{}, &RefusalError{Reason: opsv1alpha1.AcceptedValidationFailed, Message: fmt.Sprintf(
			"the target %s has no Helm release: a placeholder can't be upgraded", req.Operation.Spec.TargetRef.Name)}
	}
	return Subject{
		GroupVersionKind: KindHelmRelease, Namespace: req.Operation.Namespace, Name: req.Target.Spec.Release.Name,
	}, nil
}

func (helm) Object(Request) (*unstructured.Unstructured, error) { return nil, nil }

// Observe reports success once Flux has installed the requested version and values, and reports the generation that
// requests them as ready.
func (h helm) Observe(req Request, observed *unstructured.Unstructured) Progress {
	params, err := UpgradeOf(req.Operation)
	if err != nil {
		return failed(opsv1alpha1.FailedEngine, err.Error())
	}
	p := h.progress(req, observed, params).with("helmReleaseName", observed.GetName())
	if p.State == Succeeded {
		p = p.with("version", latestRelease(observed).version)
	}
	return p
}

func (helm) progress(req Request, observed *unstructured.Unstructured, params UpgradeParameters) Progress {
	if !asked(req, observed, params) {
		return pending("the HelmRelease does not request the upgrade yet")
	}
	if number(observed, "status", "observedGeneration") < observed.GetGeneration() {
		return running(opsv1alpha1.RunningEngineStarted, "Flux has not seen the upgrade yet")
	}
	ready, released := conditionOf(observed, "Ready"), conditionOf(observed, "Released")
	latest := latestRelease(observed)
	current := ready.Generation == 0 || ready.Generation >= observed.GetGeneration()
	if ready.Status == "True" && current && identity.SameVersion(params.TargetVersion, latest.version) {
		return succeeded(opsv1alpha1.SucceededEngineCompleted, ready.Message)
	}
	attempted := attempted(observed, params.TargetVersion)
	if rolled := conditionOf(observed, "Remediated"); rolled.Status == "True" && attempted && ready.Status == "False" && !retries(observed) {
		return failed(opsv1alpha1.FailedRolledBack, cmp.Or(released.Message, ready.Message, rolled.Message))
	}
	if attempted && !retries(observed) && (ready.Status == "False" && final(ready.Reason) || released.Status == "False") {
		return failed(opsv1alpha1.FailedEngine, cmp.Or(released.Message, ready.Message))
	}
	if stalled := conditionOf(observed, "Stalled"); stalled.Status == "True" {
		return failed(opsv1alpha1.FailedEngine, cmp.Or(stalled.Message, ready.Message))
	}
	return running(opsv1alpha1.RunningEngineStarted, cmp.Or(ready.Message, "Flux upgrades the release"))
}

// asked reports whether the HelmRelease requests the upgrade. The version of a chart from an OCI registry is in its
// OCIRepository instead, so only what Flux installs shows it.
func asked(req Request, observed *unstructured.Unstructured, params UpgradeParameters) bool {
	oci := req.Target != nil && req.Target.Spec.Chart != nil &&
		req.Target.Spec.Chart.SourceType == appsv1alpha1.ChartSourceOCI
	if params.TargetVersion != "" && !oci && text(observed, "spec", "chart", "spec", "version") != params.TargetVersion {
		return false
	}
	values, _, _ := unstructured.NestedMap(observed.Object, "spec", "values")
	return contains(values, params.ValuesPatch)
}

// contains reports whether values contain all of a patch. A nil in a patch removes a value, as in Helm's own values.
func contains(values, patch map[string]any) bool {
	for name, want := range patch {
		have, found := values[name]
		nested, isMap := want.(map[string]any)
		switch {
		case want == nil:
			if found && have != nil {
				return false
			}
		case isMap:
			inner, _ := have.(map[string]any)
			if !found || !contains(inner, nested) {
				return false
			}
		case !equalValue(have, want):
			return false
		}
	}
	return true
}

// equalValue compares values read from JSON, where the same number may be an int64 or a float64.
func equalValue(a, b any) bool {
	switch x := a.(type) {
	case int64:
		a = float64(x)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && len(x) == len(y) && contains(x, y)
	}
	if y, ok := b.(int64); ok {
		b = float64(y)
	}
	return reflect.DeepEqual(a, b)
}

// attempted reports whether Flux's last attempt was at the requested version, for the current generation.
func attempted(observed *unstructured.Unstructured, version string) bool {
	generation := number(observed, "status", "lastAttemptedGeneration")
	return identity.SameVersion(version, text(observed, "status", "lastAttemptedRevision")) && (generation == 0 || generation == observed.GetGeneration())
}

// retries reports whether Flux will retry by itself.
func retries(observed *unstructured.Unstructured) bool {
	return conditionOf(observed, "Reconciling").Status == "True"
}

// final reports whether a reason of Ready=False means that an action on the release failed. Other reasons, such as
// SourceNotReady, mean that Flux has not tried.
func final(reason string) bool {
	switch reason {
	case "UpgradeFailed", "InstallFailed", "TestFailed", "RollbackFailed", "RollbackSucceeded", "UninstallFailed",
		"UninstallSucceeded", "RetriesExceeded":
		return true
	}
	return false
}

// release is a revision of a Helm release in Flux's report.
type release struct {
	name, namespace, version, status string
	revision                         int64
}

// history returns the revisions of a HelmRelease in Flux's report.
func history(observed *unstructured.Unstructured) []release {
	items, _, _ := unstructured.NestedSlice(observed.Object, "status", "history")
	all := make([]release, len(items))
	for i, item := range items {
		values, _ := item.(map[string]any)
		r := &all[i]
		r.name, _ = values["name"].(string)
		r.namespace, _ = values["namespace"].(string)
		r.version, _ = values["chartVersion"].(string)
		r.status, _ = values["status"].(string)
		r.revision, _ = values["version"].(int64)
	}
	return all
}

// latestRelease returns the newest revision of a HelmRelease, whatever its status.
func latestRelease(observed *unstructured.Unstructured) release {
	var latest release
	for _, r := range history(observed) {
		if r.revision >= latest.revision {
			latest = r
		}
	}
	return latest
}
