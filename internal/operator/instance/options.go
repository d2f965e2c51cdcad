package instance

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// withOptions returns the spec of a HelmRelease with what the instance passes on to Flux, under the same names: it counts more
// than what is there. A rollback may take as long as any other action.
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

// setAccess says how a chart's source is reached, and whose signature the chart must have.
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

// setDependencies names the releases of the instances that this one waits for.
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

// asMap returns a struct as it is written in an object.
func asMap(value any) (map[string]any, error) {
	made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", value, err)
	}
	return made, nil
}

// missingReference says that Flux can't read one of valuesFrom. Its message names the object.
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
