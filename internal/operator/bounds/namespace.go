package bounds

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"tend.dev/tend/internal/operator/identity"
)

var kindNamespace = corev1.SchemeGroupVersion.WithKind("Namespace")

// Namespace reads the metadata of a namespace. A missing namespace has neither labels nor annotations.
func Namespace(ctx context.Context, reader client.Reader, name string) (metav1.Object, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(kindNamespace)
	namespace.SetName(name)
	if err := client.IgnoreNotFound(reader.Get(ctx, client.ObjectKey{Name: name}, namespace)); err != nil {
		return nil, fmt.Errorf("read the namespace %s: %w", name, err)
	}
	return namespace, nil
}

// ListOpen returns the metadata of the namespaces labelled for the operator.
func ListOpen(ctx context.Context, reader client.Reader) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kindNamespace.GroupVersion().WithKind("NamespaceList"))
	if err := reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the namespaces: %w", err)
	}
	return slices.DeleteFunc(
		list.Items, func(namespace metav1.PartialObjectMetadata) bool { return !Open(&namespace) },
	), nil
}

// Changed selects the events of namespaces that may change a Policy's decision.
var Changed predicate.Predicate = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return Open(before) != Open(after) || !maps.Equal(types(before), types(after))
	},
}

func types(namespace metav1.Object) map[string]string {
	return map[string]string{identity.AnnotationAllowedTypes: namespace.GetAnnotations()[identity.AnnotationAllowedTypes]}
}
