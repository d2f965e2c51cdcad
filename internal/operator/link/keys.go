package link

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
)

// keyApplied is the key of the ConfigMap that holds the keys of applied jobs.
const keyApplied = "applied-keys.json"

// appliedJobs is the ConfigMap with the keys of applied jobs. It implements agent.KeyStore, whose user bounds its size.
type appliedJobs struct {
	Client    client.Client
	Live      client.Reader
	Namespace string
	// ClusterID is the identity of the registered cluster.
	ClusterID string
}

// Load returns the stored text, or an empty one.
func (a *appliedJobs) Load(ctx context.Context) ([]byte, error) {
	stored := &corev1.ConfigMap{}
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: identity.ConfigMapAppliedJobs}, stored)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the ConfigMap %s/%s: %w", a.Namespace, identity.ConfigMapAppliedJobs, err)
	}
	return []byte(stored.Data[keyApplied]), nil
}

// Save applies the ConfigMap.
func (a *appliedJobs) Save(ctx context.Context, text []byte) error {
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{keyApplied: string(text)},
	}}
	wanted.SetNamespace(a.Namespace)
	wanted.SetName(identity.ConfigMapAppliedJobs)
	labels := map[string]string{identity.LabelManagedBy: identity.ManagedBy}
	if a.ClusterID != "" {
		labels[identity.LabelClusterID] = a.ClusterID
	}
	wanted.SetLabels(labels)
	if err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner); err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s: %w", a.Namespace, identity.ConfigMapAppliedJobs, err)
	}
	return nil
}
