package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Operation is one action that an engine performs once on an ApplicationInstance, such as a backup.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=op
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engine`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startedAt) && !has(oldSelf.status.finishedAt) || has(self.spec.parameters) == has(oldSelf.spec.parameters) && (!has(self.spec.parameters) || self.spec.parameters == oldSelf.spec.parameters)",message="spec.parameters can't be changed: the operation has started. Create another one"
type Operation struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what to do. The operator never writes it.
	// +required
	Spec OperationSpec `json:"spec"`
	// status says how far the operation has got. Only the operator writes it.
	// +optional
	Status OperationStatus `json:"status,omitempty"`
}

// OperationList is a list of Operation.
//
// +kubebuilder:object:root=true
type OperationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Operation `json:"items"`
}

// OperationType names the action.
//
// +kubebuilder:validation:Enum=Backup;Restore;Upgrade;Migration;RunCommand;Runbook
type OperationType string

// The types of operations.
const (
	// TypeBackup saves the data of the target.
	TypeBackup OperationType = "Backup"
	// TypeRestore replaces the data of the target with saved data.
	TypeRestore OperationType = "Restore"
	// TypeUpgrade installs another version, or other values, of the target's chart.
	TypeUpgrade OperationType = "Upgrade"
	// TypeMigration changes the data of the target to another form.
	TypeMigration OperationType = "Migration"
	// TypeRunCommand runs a command in a pod of its own.
	TypeRunCommand OperationType = "RunCommand"
	// TypeRunbook runs the steps of a workflow.
	TypeRunbook OperationType = "Runbook"
)

// Engine names the software that performs the action.
//
// +kubebuilder:validation:Enum=velero;workflow;job;helm;volsync;helmHookJob;snapshot
// +kubebuilder:validation:XValidation:rule="self != 'snapshot'",message="snapshot is not an engine here: write volsync, with parameters.volumeSnapshot: true"
type Engine string

// The engines of operations.
const (
	// EngineVelero creates a Backup or a Restore of Velero.
	EngineVelero Engine = "velero"
	// EngineWorkflow creates a Workflow of Argo Workflows.
	EngineWorkflow Engine = "workflow"
	// EngineJob creates a Job.
	EngineJob Engine = "job"
	// EngineHelm changes the target's HelmRelease.
	EngineHelm Engine = "helm"
	// EngineVolSync creates a ReplicationSource or a ReplicationDestination of VolSync.
	EngineVolSync Engine = "volsync"
	// EngineHelmHookJob creates the Job of a hook that the target's chart declares.
	EngineHelmHookJob Engine = "helmHookJob"
)

// OperationSpec says what to do. parameters can't be changed once the operation starts; all other fields except
// approvals and policy can't be changed once the object exists.
//
// +kubebuilder:validation:XValidation:rule="self.targetRef == oldSelf.targetRef",message="targetRef can't be changed: create another operation"
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="type can't be changed: create another operation"
// +kubebuilder:validation:XValidation:rule="self.engine == oldSelf.engine",message="engine can't be changed: create another operation"
type OperationSpec struct {
	// targetRef names the ApplicationInstance, in the operation's own namespace.
	// +required
	TargetRef TargetRef `json:"targetRef"`
	// type names the action.
	// +required
	Type OperationType `json:"type"`
	// engine names the software that performs the action.
	// +required
	Engine Engine `json:"engine"`
	// parameters are the arguments. Which ones exist depends on type and engine.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`
	// approvals says whether a person must approve the operation, and who did.
	// +optional
	Approvals *Approvals `json:"approvals,omitempty"`
	// policy says under which conditions it may start.
	// +optional
	Policy *Policy `json:"policy,omitempty"`
}

// TargetRef names an ApplicationInstance.
type TargetRef struct {
	// apiVersion is that of ApplicationInstance.
	// +kubebuilder:validation:Enum=apps.vworkspace.io/v1alpha1
	// +required
	APIVersion string `json:"apiVersion"`
	// kind is ApplicationInstance.
	// +kubebuilder:validation:Enum=ApplicationInstance
	// +required
	Kind string `json:"kind"`
	// name is its name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`\S`
	// +required
	Name string `json:"name"`
}

// Approvals says whether a person must approve an operation, and who did.
type Approvals struct {
	// required says whether an approval is needed. Some templates always need one.
	// +optional
	Required bool `json:"required,omitempty"`
	// claim is the proof of an approval: a vws1 token that names this operation.
	// +optional
	Claim string `json:"claim,omitempty"`
	// approvedBy names who approved it, for people to read. It proves nothing.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// approvedAt is the time of the approval, for people to read. It proves nothing.
	// +optional
	ApprovedAt string `json:"approvedAt,omitempty"`
}

// Policy says under which conditions an operation may start.
type Policy struct {
	// requireReady says whether the target must be ready. The default is false: people often restore a target because it
	// isn't ready.
	// +optional
	RequireReady bool `json:"requireReady,omitempty"`
}
