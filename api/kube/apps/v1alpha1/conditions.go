package v1alpha1

// The condition types of an ApplicationInstance.
const (
	// ConditionReady is whether the application is installed as the spec says.
	ConditionReady = "Ready"
	// ConditionReconciling is whether a change is in progress.
	ConditionReconciling = "Reconciling"
	// ConditionDegraded is whether something failed, or whether live objects differ from what was applied.
	ConditionDegraded = "Degraded"
	// ConditionSuspended is whether the operator, or Flux, leaves the application alone.
	ConditionSuspended = "Suspended"
	// ConditionBlocked is whether the operator can't proceed before a person changes something.
	ConditionBlocked = "Blocked"
	// ConditionDeleting is whether the application is being uninstalled.
	ConditionDeleting = "Deleting"
)

// Reasons of Ready.
const (
	// ReadyHelmReleaseReady: the HelmRelease is ready.
	ReadyHelmReleaseReady = "HelmReleaseReady"
	// ReadyPlaceholder: there is nothing to install.
	ReadyPlaceholder = "Placeholder"
	// ReadyReconciling: Flux has not said anything of the current spec yet.
	ReadyReconciling = "Reconciling"
	// ReadyHelmReleaseFailed: the HelmRelease is not ready, or the API server could not apply it. What is in the way of applying it
	// has the reason of Blocked.
	ReadyHelmReleaseFailed = "HelmReleaseFailed"
	// ReadyDependencyNotReady: an instance of spec.dependsOn is not ready.
	ReadyDependencyNotReady = "DependencyNotReady"
	// ReadyChartUnreachable: the chart could not be fetched.
	ReadyChartUnreachable = "ChartUnreachable"
)

// Reasons of Reconciling.
const (
	// ReconcilingInstalling: the release is being installed.
	ReconcilingInstalling = "HelmReleaseInstalling"
	// ReconcilingUpgrading: the release is being upgraded.
	ReconcilingUpgrading = "HelmReleaseUpgrading"
	// ReconcilingStable: no change is in progress.
	ReconcilingStable = "Stable"
)

// Reasons of Degraded.
const (
	// DegradedHelmReleaseFailed: an install or an upgrade failed. The message is Flux's.
	DegradedHelmReleaseFailed = "HelmReleaseFailed"
	// DegradedHelmRelease: the release was ready in this generation, and isn't any more.
	DegradedHelmRelease = "HelmReleaseDegraded"
	// DegradedChartUnreachable: the chart could not be fetched.
	DegradedChartUnreachable = "ChartUnreachable"
	// DegradedDrifted: live objects differ from what the operator applied. It is reported, not repaired.
	DegradedDrifted = "Drifted"
	// DegradedRecovered: nothing is wrong.
	DegradedRecovered = "Recovered"
)

// Reasons of Suspended.
const (
	// SuspendedReconcilePaused: the annotation apps.vworkspace.io/reconcile is disabled.
	SuspendedReconcilePaused = "ReconcilePaused"
	// SuspendedMaintenanceWindow: a change of the spec waits for the maintenance window.
	SuspendedMaintenanceWindow = "MaintenanceWindow"
	// SuspendedManually: the HelmRelease itself is suspended.
	SuspendedManually = "ManuallySuspended"
	// SuspendedActive: nothing is suspended.
	SuspendedActive = "Active"
)

// Reasons of Blocked.
const (
	// BlockedFieldConflict: another field manager owns a field that the operator must set.
	BlockedFieldConflict = "FieldConflict"
	// BlockedValidationFailed: the spec is not valid.
	BlockedValidationFailed = "ValidationFailed"
	// BlockedMissingDependencies: the kinds of Flux are not installed, or an instance of spec.dependsOn does not exist.
	BlockedMissingDependencies = "MissingDependencies"
	// BlockedMissingSecret: the Secret with the values does not exist, or lacks the key.
	BlockedMissingSecret = "MissingSecret"
	// BlockedMissingConfigMap: the ConfigMap with the values does not exist, or lacks the key.
	BlockedMissingConfigMap = "MissingConfigMap"
	// BlockedForeignObject: an object of a child's name belongs to something else.
	BlockedForeignObject = "ForeignObject"
	// BlockedPolicyDenied: the operator may not work on the instance: because of its namespace, its labels or its chart.
	BlockedPolicyDenied = "PolicyDenied"
	// BlockedUnblocked: nothing is in the way.
	BlockedUnblocked = "Unblocked"
)

// Reasons of Deleting.
const (
	// DeletingUninstalling: the children are being deleted.
	DeletingUninstalling = "Uninstalling"
	// DeletingWaiting: the children are being deleted and still exist.
	DeletingWaiting = "WaitingForChildResources"
)
