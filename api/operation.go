package api

// OperationSpec declares something that is to be done once with an application instance. But for Cluster its fields are
// those of the resource of the same name; the scope is the namespace.
type OperationSpec struct {
	// Cluster is the name of the cluster that the target runs in. It can't be changed.
	Cluster string `json:"cluster" hcl:"cluster"`
	// TargetRef names the application instance, which is in the operation's own scope. It can't be changed.
	TargetRef TargetRef `json:"targetRef" hcl:"target_ref,block"`
	// Type is Backup, Restore, Upgrade, Migration, RunCommand or Runbook. It can't be changed.
	Type string `json:"type" hcl:"type"`
	// Engine is velero, workflow, job, helm, volsync or helmHookJob. It can't be changed.
	Engine string `json:"engine" hcl:"engine"`
	// Parameters are the engine's, of any shape. They can't be changed once the operation has begun.
	Parameters map[string]any `json:"parameters,omitempty" hcl:"parameters,optional"`
	// Approvals holds the required approval and the approver.
	Approvals *Approvals `json:"approvals,omitempty" hcl:"approvals,block"`
	// Policy is the operation's demand on its target.
	Policy *OperationPolicy `json:"policy,omitempty" hcl:"policy,block"`
}

// OperationPolicy holds an operation's demands on its target.
type OperationPolicy struct {
	// RequireReady makes the operation wait until the target is ready. Default: the template's setting.
	RequireReady *bool `json:"requireReady,omitempty" hcl:"require_ready,optional"`
}

// TargetRef names the target of an operation.
type TargetRef struct {
	// APIVersion is apps.vworkspace.io/v1alpha1, which is the default and the only value.
	APIVersion string `json:"apiVersion,omitempty" hcl:"api_version,optional"`
	// Kind is ApplicationInstance, which is the default and the only value.
	Kind string `json:"kind,omitempty" hcl:"kind,optional"`
	// Name is the name of the application instance.
	Name string `json:"name" hcl:"name"`
}

// Approvals holds the required approval of an operation and its approver.
type Approvals struct {
	// Required asks for an approval, also where the template doesn't.
	Required bool `json:"required,omitempty" hcl:"required,optional"`
	// Claim is the token of the approval: vws1.….
	Claim string `json:"claim,omitempty" hcl:"claim,optional"`
	// ApprovedBy and ApprovedAt are for the record.
	ApprovedBy string `json:"approvedBy,omitempty" hcl:"approved_by,optional"`
	// ApprovedAt is a time such as 2026-11-25T08:00:00Z.
	ApprovedAt string `json:"approvedAt,omitempty" hcl:"approved_at,optional"`
}

// OperationTypes and OperationEngines are the values of an operation's Type and Engine.
var (
	OperationTypes   = []string{"Backup", "Restore", "Upgrade", "Migration", "RunCommand", "Runbook"}
	OperationEngines = []string{"velero", "workflow", "job", "helm", "volsync", "helmHookJob"}
)

// What the resources of a cluster are called.
const (
	AppsAPIVersion          = "apps.vworkspace.io/v1alpha1"
	OpsAPIVersion           = "ops.vworkspace.io/v1alpha1"
	ApplicationInstanceKind = "ApplicationInstance"
	OperationKind           = "Operation"
	ClusterKind             = "Cluster"
)
