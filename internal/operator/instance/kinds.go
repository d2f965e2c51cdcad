package instance

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// The kinds of an instance and its children.
var (
	kindInstance       = appsv1alpha1.GroupVersion.WithKind(appsv1alpha1.Kind)
	kindHelmRelease    = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	kindOCIRepository  = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
	kindHelmRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"}
)

// sourceKind returns the kind of a chart's source.
func sourceKind(chart *appsv1alpha1.Chart) schema.GroupVersionKind {
	if chart.SourceType == appsv1alpha1.ChartSourceOCI {
		return kindOCIRepository
	}
	return kindHelmRepository
}

// object returns an empty object of a kind.
func object(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetGroupVersionKind(kind)
	made.SetNamespace(namespace)
	made.SetName(name)
	return made
}
