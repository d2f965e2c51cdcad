package kubetest

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// veleroModule is the module that has Velero's CRDs, with the checksum of its files.
const veleroModule, veleroSum = "github.com/vmware-tanzu/velero@v1.18.3", "h1:9uwN5yxTWQl9PsF5ljX4xiG+7VIq3I9mxOQ0DyyZ31A="

// Velero is the CRDs of Velero, from its module.
func Velero() ([]*unstructured.Unstructured, error) {
	dir, err := downloaded(veleroModule, veleroSum)
	if err != nil {
		return nil, err
	}
	return readFolder(filepath.Join(dir, "config", "crd", "v1", "bases"))
}

// The kinds of the other engines have the fields that Tend writes and reads, and no others: their modules can't be had. As in
// the real CRDs, those of VolSync and of snapshots have a status subresource, and those of Argo Workflows have none.
var (
	// Argo is the kinds Workflow and WorkflowTemplate.
	Argo = written("argo.yaml")
	// VolSync is the kinds ReplicationSource and ReplicationDestination.
	VolSync = written("volsync.yaml")
	// Snapshots is the kinds VolumeSnapshot and VolumeSnapshotClass.
	Snapshots = written("snapshots.yaml")
)

// written returns the CRDs of a file of this package.
func written(file string) Kinds {
	return func() ([]*unstructured.Unstructured, error) {
		root, err := moduleRoot()
		if err != nil {
			return nil, err
		}
		return readFiles(filepath.Join(root, "internal", "operator", "kubetest", "crd", file))
	}
}
