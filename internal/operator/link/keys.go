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

// appliedJobs are the ConfigMaps with the keys of applied jobs, one per page. It implements puller.KeyStore, whose user
// bounds their size.
type appliedJobs struct {
	Client    client.Client
	Live      client.Reader
	Namespace string
	// ClusterID is the identity of the registered cluster.
	ClusterID string
}

// pageName returns the name of the ConfigMap with a page. The first one is that of releases with a single page.
func pageName(page int) string {
	if page == 0 {
		return identity.ConfigMapAppliedJobs
	}
	return fmt.Sprintf("%s-%d", identity.ConfigMapAppliedJobs, page)
}

// Load returns the stored text of a page, or an empty one.
func (a *appliedJobs) Load(ctx context.Context, page int) ([]byte, error) {
	stored := &corev1.ConfigMap{}
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: pageName(page)}, stored)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the ConfigMap %s/%s: %w", a.Namespace, pageName(page), err)
	}
	return []byte(stored.Data[keyApplied]), nil
}

// Save applies the ConfigMap of a page, also over what a person or a restore has written. Nothing reads it from the
// cache, so it isn't watched.
func (a *appliedJobs) Save(ctx context.Context, page int, text []byte) error {
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{keyApplied: string(text)},
	}}
	wanted.SetNamespace(a.Namespace)
	wanted.SetName(pageName(page))
	labels := map[string]string{identity.LabelManagedBy: identity.ManagedBy}
	if a.ClusterID != "" {
		labels[identity.LabelClusterID] = a.ClusterID
	}
	wanted.SetLabels(labels)
	err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner,
		client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s: %w", a.Namespace, pageName(page), err)
	}
	return nil
}
