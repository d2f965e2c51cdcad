package instance

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/operation"
)

// upgrade returns what the instance's Upgrades install instead of the spec, or nil. So the HelmRelease has a single
// writer, and the next reconcile doesn't undo an upgrade.
func (r *Reconciler) upgrade(ctx context.Context, instance *appsv1alpha1.ApplicationInstance) (*Upgrade, error) {
	var operations opsv1alpha1.OperationList
	if err := r.Client.List(ctx, &operations, client.InNamespace(instance.Namespace)); err != nil {
		return nil, fmt.Errorf("list the operations of %s: %w", instance.Name, err)
	}
	overlay := operation.OverlayOf(instance, operations.Items)
	running := slices.ContainsFunc(operations.Items, func(op opsv1alpha1.Operation) bool {
		return op.Spec.TargetRef.Name == instance.Name && op.Spec.Engine == opsv1alpha1.EngineHelm &&
			operation.Underway(&op) && op.Status.TargetGeneration == instance.Generation
	})
	return &Upgrade{
		Version: overlay.Version, Values: overlay.Values, Running: running,
		Abandoned: operation.AbandonedOf(instance, operations.Items),
	}, nil
}
