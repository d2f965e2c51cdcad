package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// OperationPhase is how far an operation got.
//
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Cancelled
type OperationPhase string

// The phases of an operation. The last three are terminal: no later observation changes them.
const (
	// PhasePending is an operation that has not started, or whose engine has not begun.
	PhasePending OperationPhase = "Pending"
	// PhaseRunning is an operation whose engine is working.
	PhaseRunning OperationPhase = "Running"
	// PhaseSucceeded is an operation that did what it should.
	PhaseSucceeded OperationPhase = "Succeeded"
	// PhaseFailed is an operation that did not.
	PhaseFailed OperationPhase = "Failed"
	// PhaseCancelled is an operation that was ended on request.
	PhaseCancelled OperationPhase = "Cancelled"
)

// Terminal returns whether the phase is final.
func (p OperationPhase) Terminal() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseCancelled
}

// OperationStatus is how far an operation got.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.phase) || !(oldSelf.phase in ['Succeeded', 'Failed', 'Cancelled']) || (has(self.phase) && self.phase == oldSelf.phase)",message="a terminal phase can't be changed"
type OperationStatus struct {
	// observedGeneration is the generation of the spec that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// targetGeneration is the generation of the target when the operation started. What an Upgrade of engine helm asks for
	// holds, once it runs, until the target's spec is changed again: then the spec counts.
	// +optional
	TargetGeneration int64 `json:"targetGeneration,omitempty"`
	// phase is Pending, Running, Succeeded, Failed or Cancelled.
	// +optional
	Phase OperationPhase `json:"phase,omitempty"`
	// startedAt is when nothing was in its way any more, and the engine's object was asked for.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// finishedAt is when it reached a terminal phase.
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
	// uid identifies the object: one of the same name that was created later is another one.
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
	// url is an address where people can read them.
	// +optional
	URL string `json:"url,omitempty"`
}
