package instance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// desired returns the children of a managed instance as they should be: the chart source, then the HelmRelease.
func desired(instance *appsv1alpha1.ApplicationInstance, observed *Observed) ([]*unstructured.Unstructured, error) {
	chart := *instance.Spec.Chart
	if observed.Upgrade != nil && observed.Upgrade.Version != "" {
		chart.Version = observed.Upgrade.Version
	}
	source, err := chartSource(instance, &chart)
	if err != nil {
		return nil, err
	}
	release, err := helmRelease(instance, &chart, observed)
	if err != nil {
		return nil, err
	}
	children := []*unstructured.Unstructured{source, release}
	for _, child := range children {
		if err := own(child, instance, observed.ClusterID); err != nil {
			return nil, err
		}
	}
	return children, nil
}

// own sets a child's labels, its owner, and the hash of the result.
func own(child *unstructured.Unstructured, instance *appsv1alpha1.ApplicationInstance, clusterID string) error {
	child.SetLabels(identity.Labels(clusterID, instance.Name))
	yes := true
	child.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: kindInstance.GroupVersion().String(), Kind: kindInstance.Kind, Name: instance.Name, UID: instance.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	text, err := json.Marshal(child.Object) // JSON orders the keys of maps
	if err != nil {
		return fmt.Errorf("hash %s %s: %w", child.GetKind(), child.GetName(), err)
	}
	sum := sha256.Sum256(text)
	child.SetAnnotations(map[string]string{identity.AnnotationIntent: hex.EncodeToString(sum[:16])})
	return nil
}

// chartSource returns the source of a chart. An OCIRepository has one chart and version; a HelmRepository has all.
func chartSource(
	instance *appsv1alpha1.ApplicationInstance, chart *appsv1alpha1.Chart,
) (*unstructured.Unstructured, error) {
	source := object(sourceKind(chart), instance.Namespace, identity.ChartSource(instance.Spec.Release.Name))
	spec := map[string]any{"interval": "1m0s", "url": chart.URL}
	if chart.SourceType == appsv1alpha1.ChartSourceOCI {
		spec["url"] = strings.TrimRight(chart.URL, "/") + "/" + chart.Name
		spec["ref"] = map[string]any{"tag": strings.ReplaceAll(chart.Version, "+", "_")} // as Helm pushes it: a tag can't have a +
		spec["layerSelector"] = map[string]any{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"}
	}
	source.Object["spec"] = spec
	return source, setAccess(spec, chart)
}

// helmRelease returns the HelmRelease. It names an OCIRepository in chartRef, because Flux accepts only repositories
// with an index in chart.spec.sourceRef.
func helmRelease(
	instance *appsv1alpha1.ApplicationInstance, chart *appsv1alpha1.Chart, observed *Observed,
) (*unstructured.Unstructured, error) {
	name := instance.Spec.Release.Name
	release := object(kindHelmRelease, instance.Namespace, name)
	source := map[string]any{"kind": sourceKind(chart).Kind, "name": identity.ChartSource(name)}
	spec := map[string]any{
		"interval": "5m0s", "releaseName": name, "targetNamespace": instance.Spec.Release.Namespace, "maxHistory": int64(10),
		"upgrade": map[string]any{
			"cleanupOnFail": true, "remediation": map[string]any{"retries": int64(1), "remediateLastFailure": true},
		},
		"rollback": map[string]any{"timeout": "5m0s", "cleanupOnFail": true},
	}
	if chart.SourceType == appsv1alpha1.ChartSourceOCI {
		spec["chartRef"] = source
	} else {
		spec["chart"] = map[string]any{"spec": map[string]any{"chart": chart.Name, "version": chart.Version, "sourceRef": source}}
	}
	setDependencies(spec, instance, observed)
	if err := setValues(spec, &instance.Spec, observed.Upgrade); err != nil {
		return nil, err
	}
	var err error
	release.Object["spec"], err = withOptions(spec, &instance.Spec.ReleaseOptions)
	return release, err
}

// setValues makes Flux read values where they are, so that nothing is copied from a Secret. The values of an Upgrade
// are merged here with inline values. Flux merges them with other values: it ranks values above valuesFrom, and later
// entries of valuesFrom above earlier ones.
func setValues(spec map[string]any, declared *appsv1alpha1.ApplicationInstanceSpec, upgrade *Upgrade) error {
	own := map[string]any{}
	var all []any
	from := func(kind string, ref *appsv1alpha1.KeyRef) {
		all = append(all, map[string]any{"kind": kind, "name": ref.Name, "valuesKey": ref.Key})
	}
	for i := range declared.ValuesFrom {
		reference, err := asMap(&declared.ValuesFrom[i])
		if err != nil {
			return err
		}
		all = append(all, reference)
	}
	switch values := declared.Values; values.Source {
	case appsv1alpha1.ValuesSecret:
		from("Secret", values.SecretRef)
	case appsv1alpha1.ValuesConfigMap:
		from("ConfigMap", values.ConfigMapRef)
	case appsv1alpha1.ValuesInline:
		if err := json.Unmarshal(values.Inline.Raw, &own); err != nil {
			return fmt.Errorf("values.inline: %w", err)
		}
	}
	if len(all) > 0 {
		spec["valuesFrom"] = all
	}
	if upgrade != nil {
		own = merge(own, upgrade.Values)
	}
	if len(own) > 0 {
		spec["values"] = own
	}
	return nil
}

// merge returns base overridden by over, merging maps recursively.
func merge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
	for key, value := range over {
		into, isMap := merged[key].(map[string]any)
		if values, ok := value.(map[string]any); ok && isMap {
			merged[key] = merge(into, values)
			continue
		}
		merged[key] = value
	}
	return merged
}
