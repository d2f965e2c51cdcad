package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// OperationPhase says how far an operation has got.
//
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Cancelled
type OperationPhase string

// The phases of an operation. The last three are terminal: no later observation changes them.
const (
	// PhasePending: the operation has not started, or its engine has not begun.
	PhasePending OperationPhase = "Pending"
	// PhaseRunning: the engine is working.
	PhaseRunning OperationPhase = "Running"
	// PhaseSucceeded: the operation succeeded.
	PhaseSucceeded OperationPhase = "Succeeded"
	// PhaseFailed: the operation failed.
	PhaseFailed OperationPhase = "Failed"
	// PhaseCancelled: the operation was cancelled on request.
	PhaseCancelled OperationPhase = "Cancelled"
)

// Terminal returns whether the phase is final.
func (p OperationPhase) Terminal() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseCancelled
}

// OperationStatus says how far an operation has got.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.phase) || !(oldSelf.phase in ['Succeeded', 'Failed', 'Cancelled']) || (has(self.phase) && self.phase == oldSelf.phase)",message="a terminal phase can't be changed"
type OperationStatus struct {
	// observedGeneration is the generation of the spec that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// targetGeneration is the target's generation at the start of the operation. An Upgrade of engine helm that has
	// started overrides the target's spec until the spec is changed again.
	// +optional
	TargetGeneration int64 `json:"targetGeneration,omitempty"`
	// phase is Pending, Running, Succeeded, Failed or Cancelled.
	// +optional
	Phase OperationPhase `json:"phase,omitempty"`
	// startedAt is the time at which nothing blocked the operation any more and it requested the engine's object.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// finishedAt is the time at which the operation reached a terminal phase.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// engineRef names the object that the engine created.
	// +optional
	EngineRef *EngineRef `json:"engineRef,omitempty"`
	// conditions are Accepted, Running, Succeeded, Failed, Cancelled and Blocked.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// outputs are the results by name, such as backupName, restoreName, workflowName, jobName or replicationName.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Outputs *runtime.RawExtension `json:"outputs,omitempty"`
	// logsRef says where the logs are.
	// +optional
	LogsRef *LogsRef `json:"logsRef,omitempty"`
}

// EngineRef names the object that an engine created.
type EngineRef struct {
	// apiVersion is the object's group and version.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is the object's kind.
	Kind string `json:"kind"`
	// name is the object's name.
	Name string `json:"name"`
	// namespace is the object's namespace.
	Namespace string `json:"namespace"`
	// uid distinguishes the object from one that was created later under the same name.
	// +optional
	UID string `json:"uid,omitempty"`
}

// LogsRef says where the logs of an operation are.
type LogsRef struct {
	// kind is the kind of the object that has logs, such as Pod.
	// +optional
	Kind string `json:"kind,omitempty"`
	// name is the object's name.
	// +optional
	Name string `json:"name,omitempty"`
	// namespace is the object's namespace.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// url is an address at which people can read them.
	// +optional
	URL string `json:"url,omitempty"`
}
