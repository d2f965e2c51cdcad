// Package clusterid returns the identity under which the operator's cluster is registered. It is the value of the label
// cluster-id on everything that the operator creates.
package clusterid

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// Source returns the identity of the cluster; empty if it has none yet.
type Source func(context.Context) (string, error)

// From returns an operator's Source: fixed if it isn't empty, otherwise the identity in the Cluster object. There
// should be one Cluster. Of several, the oldest counts; of equally old ones, the first by name.
func From(fixed string, reader client.Reader) Source {
	return func(ctx context.Context) (string, error) {
		if fixed != "" {
			return fixed, nil
		}
		var clusters opsv1alpha1.ClusterList
		if err := reader.List(ctx, &clusters); err != nil {
			return "", fmt.Errorf("list the Cluster that names this cluster: %w", err)
		}
		if len(clusters.Items) == 0 {
			return "", nil
		}
		first := slices.MinFunc(clusters.Items, func(a, b opsv1alpha1.Cluster) int {
			if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
				return c
			}
			return strings.Compare(a.Name, b.Name)
		})
		if first.Status.ClusterID != "" {
			return first.Status.ClusterID, nil
		}
		return first.Spec.ClusterID, nil
	}
}
