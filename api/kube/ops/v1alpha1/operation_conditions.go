package v1alpha1

// The condition types of an Operation.
const (
	// ConditionAccepted reports whether the operation may run at all.
	ConditionAccepted = "Accepted"
	// ConditionRunning reports whether the engine is working.
	ConditionRunning = "Running"
	// ConditionSucceeded reports whether the operation succeeded.
	ConditionSucceeded = "Succeeded"
	// ConditionFailed reports whether the operation failed.
	ConditionFailed = "Failed"
	// ConditionCancelled reports whether the operation was cancelled on request.
	ConditionCancelled = "Cancelled"
	// ConditionBlocked reports whether the operation waits for something.
	ConditionBlocked = "Blocked"
	// ConditionDegraded reports whether what the engine does fails, and is repeated.
	ConditionDegraded = "Degraded"
)

// Reasons of Accepted.
const (
	AcceptedAdmissionPassed      = "AdmissionPassed"
	AcceptedValidationFailed     = "ValidationFailed"
	AcceptedTargetNotFound       = "TargetNotFound"
	AcceptedCapabilityMissing    = "CapabilityMissing"
	AcceptedHookNotFound         = "HookNotFound"
	AcceptedHookRequiresRelease  = "HookRequiresRelease"
	AcceptedEngineNotInstalled   = "EngineNotInstalled"
	AcceptedBackupInvalid        = "VeleroBackupValidationFailed"
	AcceptedConflictingOperation = "ConflictingOperation"
)

// Reasons of Running. The first three are of every engine.
const (
	RunningEngineStarted        = "EngineStarted"
	RunningEngineNotStarted     = "EngineNotStarted"
	RunningPending              = "Pending"
	RunningBackupInProgress     = "VeleroBackupInProgress"
	RunningRestoreInProgress    = "VeleroRestoreInProgress"
	RunningWorkflowInProgress   = "WorkflowInProgress"
	RunningWorkflowSuspended    = "WorkflowSuspended"
	RunningJobPodActive         = "JobPodActive"
	RunningHelmHookJobActive    = "HelmHookJobActive"
	RunningVolSyncFirstSync     = "VolSyncFirstSyncInProgress"
	RunningVolSyncSynchronizing = "VolSyncSynchronizing"
	RunningVolSyncIdle          = "VolSyncIdle"
)

// Reasons of Succeeded. The first two are of every engine.
const (
	SucceededEngineCompleted = "EngineCompleted"
	SucceededNotYet          = "NotYetSucceeded"
	SucceededBackup          = "VeleroBackupCompleted"
	SucceededBackupPartially = "VeleroBackupPartiallyFailed"
	SucceededRestore         = "VeleroRestoreCompleted"
	SucceededWorkflow        = "WorkflowSucceeded"
	SucceededJob             = "JobSucceeded"
	SucceededHelmHookJob     = "HelmHookJobSucceeded"
	SucceededVolSync         = "VolSyncLastSyncSucceeded"
	SucceededVolumeSnapshot  = "VolumeSnapshotReadyToUse"
	// SucceededVolSyncFailed is the reason for which a replication has not succeeded lately, and of its Degraded.
	SucceededVolSyncFailed = "VolSyncLastSyncFailed"
	// SucceededVolumeSnapshotFailed is the reason for which a snapshot has not succeeded yet, and of its Degraded.
	SucceededVolumeSnapshotFailed = "VolumeSnapshotFailed"
)

// DegradedRecovered is the reason of Degraded when nothing fails any more.
const DegradedRecovered = "Recovered"

// Reasons of Failed. The first five are of every engine.
const (
	FailedEngine             = "EngineFailed"
	FailedTimeout            = "Timeout"
	FailedPrecondition       = "PreconditionFailed"
	FailedExternalDeletion   = "ExternalDeletion"
	FailedRefused            = "CreationRefused"
	FailedBackup             = "VeleroBackupFailed"
	FailedWorkflow           = "WorkflowFailed"
	FailedWorkflowError      = "WorkflowError"
	FailedJobBackoffExceeded = "JobFailedBackoffExceeded"
	FailedJobDeadline        = "JobActiveDeadlineExceeded"
	FailedHelmHookJob        = "HelmHookJobFailed"
	FailedRolledBack         = "RolledBack"
)

// Reasons of Cancelled.
const (
	CancelledByUser           = "UserCancelled"
	CancelledSuperseded       = "SupersededByOperation"
	CancelledExternalDeletion = "ExternalDeletion"
)

// Reasons of Blocked.
const (
	BlockedConflictingOperation   = "ConflictingOperation"
	BlockedAwaitingApproval       = "AwaitingApproval"
	BlockedTargetNotReady         = "TargetNotReady"
	BlockedDependencyMissing      = "DependencyMissing"
	BlockedValidationFailed       = "ValidationFailed"
	BlockedMissingSecret          = "MissingSecret"
	BlockedAwaitingResume         = "AwaitingResume"
	BlockedOutsideMaintenance     = "OutsideMaintenanceWindow"
	BlockedFieldConflict          = "FieldConflict"
	BlockedMissingVolumeSnapClass = "MissingVolumeSnapshotClass"
	BlockedRunnerMissing          = "RbacProfileMissing"
	BlockedCreationFailed         = "CreationFailed"
	BlockedPolicyDenied           = "PolicyDenied"
	BlockedUnblocked              = "Unblocked"
)
