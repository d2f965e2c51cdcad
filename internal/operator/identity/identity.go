package identity

import "tend.dev/tend/api/pull"

// FieldManager is the field manager of everything that the operator writes: children, finalizers and status.
const FieldManager = "vworkspace-operator"

// The labels of every object that the operator creates. The control plane sets the same ones on the objects it sends.
const (
	LabelManagedBy           = pull.LabelManagedBy
	LabelClusterID           = pull.LabelClusterID
	LabelApplicationInstance = pull.LabelApplicationInstance
	ManagedBy                = pull.ManagedBy
)

// The labels of an operation's objects.
const (
	// LabelOperation holds the UID of the Operation, on its objects and their pods.
	LabelOperation = "ops.vworkspace.io/operation"
	// LabelHookName holds the name of the chart's hook that a Job runs.
	LabelHookName = "ops.vworkspace.io/hook-name"
)

// LabelCondition holds the type of the condition whose transition an Event reports.
const LabelCondition = "ops.vworkspace.io/condition"

// The label of a namespace that the operator may work in.
const (
	// LabelNamespaceGate is the label's key.
	LabelNamespaceGate = "managed-by"
	// LabelNamespaceGateLong is the older key of the namespace label; older installations use it.
	LabelNamespaceGateLong = pull.LabelManagedBy
	// NamespaceGate is the value of both.
	NamespaceGate = "vworkspace"
)

// Annotations.
const (
	// AnnotationReconcile with the value ReconcileDisabled, on an ApplicationInstance, pauses it.
	AnnotationReconcile = pull.AnnotationReconcile
	// ReconcileDisabled is the value of AnnotationReconcile that pauses.
	ReconcileDisabled = pull.ReconcileDisabled
	// AnnotationTakeOver, on an ApplicationInstance or an Operation, names field managers, separated by commas, whose
	// fields the operator takes over once.
	AnnotationTakeOver = "apps.vworkspace.io/take-over"
	// AnnotationRequestedAt with a new value asks Flux to reconcile now. It and the next two are Flux's own. The other
	// two, with the same value as the first, force a release and reset the count of failures.
	AnnotationRequestedAt = pull.AnnotationRequestedAt
	AnnotationForceAt     = "reconcile.fluxcd.io/forceAt"
	AnnotationResetAt     = "reconcile.fluxcd.io/resetAt"
	// AnnotationIntent holds, on a child of an instance, the hash of what the operator last applied to it.
	AnnotationIntent = "vworkspace.io/applied-intent-hash"
	// AnnotationCancel on an Operation, with any value but "" and "false", ends it.
	AnnotationCancel = "ops.vworkspace.io/cancel"
	// AnnotationMaintenanceWindow on an ApplicationInstance says when it may be changed.
	AnnotationMaintenanceWindow = "ops.vworkspace.io/maintenance-window"
	// AnnotationRotate on a Cluster, with any value but "" and "false", requests another exchange of the registration
	// token.
	AnnotationRotate = "ops.vworkspace.io/rotate-credentials"
	// AnnotationAllowedTypes on a namespace lists the types of operations allowed there, separated by commas.
	AnnotationAllowedTypes = "ops.vworkspace.io/allowed-types"
	// CapabilityPrefix is the prefix of an ApplicationInstance's annotations that say which engine performs an action. The
	// type of an operation in lower case follows, and the value is the engine.
	CapabilityPrefix = "ops.vworkspace.io/"
)

// Finalizers.
const (
	// FinalizerInstance is on an ApplicationInstance until its children are gone.
	FinalizerInstance = "apps.vworkspace.io/finalizer"
	// FinalizerOperation is on an Operation until its engine's object has been cancelled.
	FinalizerOperation = "ops.vworkspace.io/finalizer"
	// FinalizerCluster is on a Cluster until its connection has ended.
	FinalizerCluster = "ops.vworkspace.io/cluster-cleanup"
)

// Names of the operator's own objects, in its namespace.
const (
	// SecretCredentials is the Secret with the credentials for the control plane.
	SecretCredentials = "vworkspace-agent-credentials"
	// ConfigMapAppliedJobs is the ConfigMap with the keys of the jobs that were applied.
	ConfigMapAppliedJobs = "vworkspace-applied-jobs"
	// SecretWebhook is the Secret with the certificate of the admission webhooks.
	SecretWebhook = "tend-operator-webhook-certificate"
	// ServiceWebhook is the Service through which the API server reaches them.
	ServiceWebhook = "tend-operator-webhook"
	// WebhookConfiguration is the ValidatingWebhookConfiguration, which has no namespace.
	WebhookConfiguration = "tend-operator"
	// LeaderLease is the lease that one operator at a time holds.
	LeaderLease = "dad03b25.vworkspace.io"
	// RunnerServiceAccount is the service account of the pods of operations.
	RunnerServiceAccount = "vworkspace-operation-runner"
)

// Labels returns the labels of every object downstream of an ApplicationInstance. Without a registered identity it
// leaves out the label for it. The CRDs' rules make both names valid label values.
func Labels(clusterID, instance string) map[string]string {
	labels := map[string]string{LabelManagedBy: ManagedBy, LabelApplicationInstance: instance}
	if clusterID != "" {
		labels[LabelClusterID] = clusterID
	}
	return labels
}

// ChartSource returns the name of the chart source of a release.
func ChartSource(release string) string { return release + "-source" }

// Cancels reports whether the annotations of an operation request its end.
func Cancels(annotations map[string]string) bool {
	value := annotations[AnnotationCancel]
	return value != "" && value != "false"
}
