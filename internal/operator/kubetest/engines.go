package kubetest

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// veleroModule is the module with Velero's CRDs, and the checksum of its files.
const veleroModule, veleroSum = "github.com/vmware-tanzu/velero@v1.18.3", "h1:9uwN5yxTWQl9PsF5ljX4xiG+7VIq3I9mxOQ0DyyZ31A="

// Velero returns the CRDs in Velero's module.
func Velero() ([]*unstructured.Unstructured, error) {
	dir, err := downloaded(veleroModule, veleroSum)
	if err != nil {
		return nil, err
	}
	return readFolder(filepath.Join(dir, "config", "crd", "v1", "bases"))
}

// The kinds of the other engines only have the fields that Tend reads and writes, because their modules are not
// available. As in the real CRDs, the kinds of VolSync and of snapshots have a status subresource, and those of Argo
// Workflows don't.
var (
	// Argo has the kinds Workflow and WorkflowTemplate.
	Argo = written("argo.yaml")
	// VolSync has the kinds ReplicationSource and ReplicationDestination.
	VolSync = written("volsync.yaml")
	// Snapshots has the kinds VolumeSnapshot and VolumeSnapshotClass.
	Snapshots = written("snapshots.yaml")
)

// written returns the CRDs in a file of this package.
func written(file string) Kinds {
	return func() ([]*unstructured.Unstructured, error) {
		root, err := moduleRoot()
		if err != nil {
			return nil, err
		}
		return readFiles(filepath.Join(root, "internal", "operator", "kubetest", "crd", file))
	}
}
