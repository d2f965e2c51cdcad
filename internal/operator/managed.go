package operator

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/operation"
)

// managed returns a function that lists the namespaces labelled for the operator, by name, with the operations that
// each allows.
func managed(reader client.Reader) func(context.Context) ([]opsv1alpha1.ManagedNamespace, error) {
	every := operation.TemplateNames(func(opsv1alpha1.OperationType) bool { return true })
	return func(ctx context.Context) (all []opsv1alpha1.ManagedNamespace, err error) {
		namespaces, err := bounds.ListOpen(ctx, reader)
		if err != nil {
			return nil, err
		}
		for i := range namespaces {
			allowed := operation.TemplateNames(func(kind opsv1alpha1.OperationType) bool {
				return bounds.Allows(&namespaces[i], kind)
			})
			if len(allowed) == len(every) {
				allowed = nil
			}
			all = append(all, opsv1alpha1.ManagedNamespace{Name: namespaces[i].Name, AllowedOperationTemplates: allowed})
		}
		slices.SortFunc(all, func(a, b opsv1alpha1.ManagedNamespace) int { return strings.Compare(a.Name, b.Name) })
		return all, nil
	}
}
