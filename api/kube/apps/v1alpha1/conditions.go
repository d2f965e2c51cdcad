package v1alpha1

// The condition types of an ApplicationInstance.
const (
	// ConditionReady reports whether the application is installed as specified.
	ConditionReady = "Ready"
	// ConditionReconciling reports whether a change is in progress.
	ConditionReconciling = "Reconciling"
	// ConditionDegraded reports whether something failed, or live objects differ from the applied ones.
	ConditionDegraded = "Degraded"
	// ConditionSuspended reports whether the operator or Flux leaves the application alone.
	ConditionSuspended = "Suspended"
	// ConditionBlocked reports whether the operator can proceed only after a person changes something.
	ConditionBlocked = "Blocked"
	// ConditionDeleting reports whether the application is being uninstalled.
	ConditionDeleting = "Deleting"
)

// Reasons of Ready.
const (
	// ReadyHelmReleaseReady: the HelmRelease is ready.
	ReadyHelmReleaseReady = "HelmReleaseReady"
	// ReadyPlaceholder: there is nothing to install.
	ReadyPlaceholder = "Placeholder"
	// ReadyReconciling: Flux has not reported on the current spec yet.
	ReadyReconciling = "Reconciling"
	// ReadyHelmReleaseFailed: the HelmRelease is not ready. If something prevents applying it, the reason is that of
	// Blocked instead.
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
	// DegradedHelmRelease: the release was ready in this generation and no longer is.
	DegradedHelmRelease = "HelmReleaseDegraded"
	// DegradedChartUnreachable: the chart could not be fetched.
	DegradedChartUnreachable = "ChartUnreachable"
	// DegradedDrifted: live objects differ from what the operator applied. The operator reports this and repairs nothing.
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
	// BlockedMissingDependencies: Flux's kinds are not installed, or an instance in spec.dependsOn does not exist.
	BlockedMissingDependencies = "MissingDependencies"
	// BlockedMissingSecret: the Secret with the values does not exist, or lacks the key.
	BlockedMissingSecret = "MissingSecret"
	// BlockedMissingConfigMap: the ConfigMap with the values does not exist, or lacks the key.
	BlockedMissingConfigMap = "MissingConfigMap"
	// BlockedForeignObject: an object with a child's name belongs to something else.
	BlockedForeignObject = "ForeignObject"
	// BlockedApplyRefused: the API server refuses an object, such as the HelmRelease.
	BlockedApplyRefused = "ApplyRefused"
	// BlockedApplyFailed: the API server did not store an object and may later, as with a full quota.
	BlockedApplyFailed = "ApplyFailed"
	// BlockedPolicyDenied: the operator may not work on the instance because of its namespace, labels or chart.
	BlockedPolicyDenied = "PolicyDenied"
	// BlockedUnblocked: nothing is in the way.
	BlockedUnblocked = "Unblocked"
)

// Reasons of Deleting.
const (
	// DeletingUninstalling: the children are being deleted.
	DeletingUninstalling = "Uninstalling"
	// DeletingWaiting: children whose deletion was requested still exist.
	DeletingWaiting = "WaitingForChildResources"
)
