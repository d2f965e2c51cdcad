package instance

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// withOptions returns a HelmRelease's spec overridden by the options that the instance passes on to Flux under the same
// names. A rollback gets the same timeout as any other action.
func withOptions(spec map[string]any, options *appsv1alpha1.ReleaseOptions) (map[string]any, error) {
	given, err := asMap(options)
	if err != nil {
		return nil, err
	}
	if timeout, ok := given["timeout"]; ok {
		given["rollback"] = map[string]any{"timeout": timeout}
	}
	return merge(spec, given), nil
}

// setAccess sets the credentials of a chart's source, and the required signature of the chart.
func setAccess(source map[string]any, chart *appsv1alpha1.Chart) error {
	if chart.SecretRef != nil {
		source["secretRef"] = map[string]any{"name": chart.SecretRef.Name}
	}
	if chart.CertSecretRef != nil {
		source["certSecretRef"] = map[string]any{"name": chart.CertSecretRef.Name}
	}
	if chart.Verify != nil {
		verify, err := asMap(chart.Verify)
		if err != nil {
			return err
		}
		source["verify"] = merge(map[string]any{"provider": "cosign"}, verify)
	}
	return nil
}

// setDependencies names the releases that this instance's release waits for.
func setDependencies(spec map[string]any, instance *appsv1alpha1.ApplicationInstance, observed *Observed) {
	var list []any
	for _, on := range instance.Spec.DependsOn {
		if release := observed.Dependencies[on.Name]; release != "" {
			list = append(list, map[string]any{"name": release})
		}
	}
	if len(list) > 0 {
		spec["dependsOn"] = list
	}
}

// asMap converts a struct to its form in an object.
func asMap(value any) (map[string]any, error) {
	made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", value, err)
	}
	return made, nil
}

// missingReference reports that Flux can't read an entry of valuesFrom. Flux's message names the object.
func (p *planner) missingReference(live fluxObject) {
	ready := live.condition("Ready")
	if len(p.instance.Spec.ValuesFrom) == 0 || ready.Status != metav1.ConditionFalse || ready.Reason != fluxValuesError {
		return
	}
	reason := appsv1alpha1.BlockedMissingSecret
	if strings.Contains(ready.Message, "ConfigMap") {
		reason = appsv1alpha1.BlockedMissingConfigMap
	}
	p.set(appsv1alpha1.ConditionBlocked, metav1.ConditionTrue, reason, ready.Message)
}
