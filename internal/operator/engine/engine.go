package engine

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// Request is an operation together with everything its engine needs to know.
type Request struct {
	// Operation is the operation. Its parameters have passed the checks of its template.
	Operation *opsv1alpha1.Operation
	// Target is the operation's ApplicationInstance. It is nil while an operation whose target is gone is observed.
	Target *appsv1alpha1.ApplicationInstance
	// ClusterID is the value of the label cluster-id; empty if the cluster is not registered.
	ClusterID string
	// VeleroNamespace is the namespace for Velero's objects. Default: the operation's. By default Velero watches only the
	// namespace it is installed in.
	VeleroNamespace string
	// SnapshotDriver is the driver of the VolumeSnapshotClass that a Velero backup names. Default: it names none.
	SnapshotDriver string
	// Pods are the known pods of the operation's Job.
	Pods []Pod
	// Release is the target's deployed Helm release, for the engine helmHookJob, or nil.
	Release *Release
}

// Subject identifies the object that shows an operation's progress.
type Subject struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
	// Owned says that the operation's engine creates the object, and that it is deleted with the operation.
	Owned bool
}

// Engine carries out operations of some types.
type Engine interface {
	// Subject returns the identity of the object that the engine creates or observes.
	Subject(Request) (Subject, error)
	// Object returns the object to create, or nil if the engine creates none. A *RefusalError says why the operation can't
	// run.
	Object(Request) (*unstructured.Unstructured, error)
	// Observe returns the operation's progress from its subject in the cluster.
	Observe(Request, *unstructured.Unstructured) Progress
}

// For returns the engine with a name, or nil.
func For(name opsv1alpha1.Engine) Engine { return engines[name] }

var engines = map[opsv1alpha1.Engine]Engine{
	opsv1alpha1.EngineVelero:      velero{},
	opsv1alpha1.EngineWorkflow:    workflow{},
	opsv1alpha1.EngineJob:         job{},
	opsv1alpha1.EngineHelm:        helm{},
	opsv1alpha1.EngineVolSync:     volsync{},
	opsv1alpha1.EngineHelmHookJob: hookJob{},
}

// The kinds that engines create or observe.
var (
	KindBackup                 = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Backup"}
	KindRestore                = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Restore"}
	KindWorkflow               = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}
	KindJob                    = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	KindHelmRelease            = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	KindReplicationSource      = schema.GroupVersionKind{Group: "volsync.backube", Version: "v1alpha1", Kind: "ReplicationSource"}
	KindReplicationDestination = schema.GroupVersionKind{Group: "volsync.backube", Version: "v1alpha1", Kind: "ReplicationDestination"}
	KindVolumeSnapshot         = schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"}
)

// KindStorageLocation is the kind whose objects show the namespace of Velero.
var KindStorageLocation = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupStorageLocation"}

// Kinds returns all kinds whose changes may be progress of operations.
func Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		KindBackup, KindRestore, KindWorkflow, KindJob, KindHelmRelease,
		KindReplicationSource, KindReplicationDestination, KindVolumeSnapshot,
	}
}

// RefusalError is the reason why an operation can never run.
type RefusalError struct {
	// Reason is the reason of the condition Accepted.
	Reason string
	// Message says what is wrong and what to do.
	Message string
}

// Error returns the message.
func (r *RefusalError) Error() string { return r.Message }

// decode reads the operation's parameters.
func decode[T any](req Request) (T, error) {
	var params T
	raw := req.Operation.Spec.Parameters
	if raw == nil || len(raw.Raw) == 0 {
		return params, nil
	}
	if err := json.Unmarshal(raw.Raw, &params); err != nil {
		return params, &RefusalError{Reason: opsv1alpha1.AcceptedValidationFailed, Message: fmt.Sprintf("spec.parameters: %v", err)}
	}
	return params, nil
}
