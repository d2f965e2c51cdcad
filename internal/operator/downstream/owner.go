package downstream

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ToOwner maps an object to its owner of a kind, by its owner reference and by the label that names the owner in the
// object's own namespace. An object with both names the same owner twice, which becomes one request.
func ToOwner(kind schema.GroupKind, label string) func(context.Context, client.Object) []reconcile.Request {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		names := map[string]bool{}
		for _, owner := range object.GetOwnerReferences() {
			if group, err := schema.ParseGroupVersion(owner.APIVersion); err == nil && group.Group == kind.Group &&
				owner.Kind == kind.Kind {
				names[owner.Name] = true
			}
		}
		if name := object.GetLabels()[label]; name != "" {
			names[name] = true
		}
		requests := make([]reconcile.Request, 0, len(names))
		for name := range names {
			requests = append(requests, reconcile.Request{
				NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name},
			})
		}
		return requests
	}
}
