package kubetest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of other engines are minimal: any spec and status are accepted. As in the real CRDs, those of VolSync and of
// snapshots have a status subresource, and those of Velero and Argo Workflows have none.
var (
	// Velero is the kinds Backup and Restore, without their schemas.
	Velero = minimal("velero.io", "v1", false, "Backup", "Restore")
	// Argo is the kinds Workflow and WorkflowTemplate, without their schemas.
	Argo = minimal("argoproj.io", "v1alpha1", false, "Workflow", "WorkflowTemplate")
	// VolSync is the kinds ReplicationSource and ReplicationDestination, without their schemas.
	VolSync = minimal("volsync.backube", "v1alpha1", true, "ReplicationSource", "ReplicationDestination")
	// Snapshots is the kind VolumeSnapshot, without its schema.
	Snapshots = minimal("snapshot.storage.k8s.io", "v1", true, "VolumeSnapshot")
)

func minimal(group, version string, status bool, kinds ...string) Kinds {
	return func() (all []*unstructured.Unstructured, err error) {
		for _, kind := range kinds {
			all = append(all, Minimal(schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, status))
		}
		return all, nil
	}
}

// Minimal returns a CRD of a namespaced kind that accepts any object, with or without a status subresource.
func Minimal(kind schema.GroupVersionKind, status bool) *unstructured.Unstructured {
	singular := strings.ToLower(kind.Kind)
	version := map[string]any{
		"name": kind.Version, "served": true, "storage": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
	}
	if status {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": singular + "s." + kind.Group, "annotations": map[string]any{
			"api-approved.kubernetes.io": "unapproved, for tests", // groups of Kubernetes' own domain need it
		}},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced",
			"names":    map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": singular + "s", "singular": singular},
			"versions": []any{version},
		},
	}}
}
