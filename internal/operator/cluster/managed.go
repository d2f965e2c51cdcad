package cluster

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/gate"
	"tend.dev/tend/internal/operator/operation"
)

// managed returns what the status says of the namespaces that are labelled for the operator, by their names.
func managed(namespaces []metav1.PartialObjectMetadata) []opsv1alpha1.ManagedNamespace {
	var all []opsv1alpha1.ManagedNamespace
	every := operation.TemplateNames(func(opsv1alpha1.OperationType) bool { return true })
	for i := range namespaces {
		allowed := operation.TemplateNames(func(kind opsv1alpha1.OperationType) bool { return gate.Allows(&namespaces[i], kind) })
		if len(allowed) == len(every) {
			allowed = nil
		}
		all = append(all, opsv1alpha1.ManagedNamespace{Name: namespaces[i].Name, AllowedOperationTemplates: allowed})
	}
	slices.SortFunc(all, func(a, b opsv1alpha1.ManagedNamespace) int { return strings.Compare(a.Name, b.Name) })
	return all
}
