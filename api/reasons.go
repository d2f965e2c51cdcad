package api

// Reasons are CamelCase words for the state of something: in conditions, of pods, runs and nodes. Programs may compare
// them; docs/use/reasons.md lists them.

// Reasons of workloads: deployments and statefulsets, in their conditions.
const (
	// ReasonConverged: every wanted pod runs the wanted release and is ready.
	ReasonConverged = "Converged"
	// ReasonFrozen: the same, apart from pods that a person stopped.
	ReasonFrozen = "Frozen"
	// ReasonComplete: nothing is under way.
	ReasonComplete = "Complete"
	// ReasonStopping: what is no longer wanted has not ended yet.
	ReasonStopping = "Stopping"
	// ReasonResolvingImage: no node has answered yet which image the reference names.
	ReasonResolvingImage = "ResolvingImage"
	// ReasonBuilding: the image is being built from its source.
	ReasonBuilding = "Building"
	// ReasonBuildFailed: a step of the build failed, or it can't be built at all.
	ReasonBuildFailed = "BuildFailed"
	// ReasonPaused: a failed pod holds the rollout, or a person paused a pod's container; of a server: it changes nothing
	// until a person resumes; of an ingress: a person holds requests.
	ReasonPaused = "Paused"
	// ReasonRolledBack: an automatic rollback turned away from what the spec asks for.
	ReasonRolledBack = "RolledBack"
	// ReasonNoNode: a pod fits on no node.
	ReasonNoNode = "NoNode"
	// ReasonWaitingForHeartbeat: the server was just started, and places pods once its nodes could send a heartbeat.
	ReasonWaitingForHeartbeat = "WaitingForHeartbeat"
	// ReasonTooLarge: a pod asks for more memory or cores than any node has in all.
	ReasonTooLarge = "TooLarge"
	// ReasonNoRuntime: the pods need a kind of runtime that no node has.
	ReasonNoRuntime = "NoRuntime"
	// ReasonNodeDown: a person said that its node is off, or removed the node.
	ReasonNodeDown = "NodeDown"
	// ReasonEvictionPaused: so many nodes went silent together that their pods are not replaced.
	ReasonEvictionPaused = "EvictionPaused"
	// ReasonEngineUnavailable: no node's container engine answers.
	ReasonEngineUnavailable = "EngineUnavailable"
	// ReasonAsExpected: no action is needed.
	ReasonAsExpected = "AsExpected"
	// ReasonInvalidSpec: this version of Tend can't read the stored spec.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonReconcilePanicked: the server's code fails on this object, a defect of Tend. What runs goes on, and nothing
	// about the object is decided until it is changed or the server has another version.
	ReasonReconcilePanicked = "ReconcilePanicked"
	// ReasonEnvironmentUnreadable: a config value can't be decrypted.
	ReasonEnvironmentUnreadable = "EnvironmentUnreadable"
	// ReasonUnresolvedReference: the target of a reference doesn't exist.
	ReasonUnresolvedReference = "UnresolvedReference"
	// ReasonEnvFromEmpty: env_from names only buckets without keys.
	ReasonEnvFromEmpty = "EnvFromEmpty"
	// ReasonSecretKeyMissing: secret_files, or ${config.…} in env, names a key that no bucket has.
	ReasonSecretKeyMissing = "SecretKeyMissing"
)

// Reasons of sinks, in their conditions.
const (
	// ReasonDelivering: what happens is sent.
	ReasonDelivering = "Delivering"
	// ReasonSinkFailing: the last three attempts to send the same thing failed; Tend keeps trying.
	ReasonSinkFailing = "SinkFailing"
	// ReasonReceiverGone: the receiver answered 410; nothing is sent until the sink is changed.
	ReasonReceiverGone = "ReceiverGone"
	// ReasonEventsSkipped: within the last hour, events were deleted from the log before they could be sent.
	ReasonEventsSkipped = "EventsSkipped"
	// ReasonAddressRefused: messages to an address of a mail sink are lost; the other addresses get them.
	ReasonAddressRefused = "AddressRefused"
)

// Reasons of releases: what holds one back, and what its commands came to.
const (
	// ReasonWaitingForDependency: a workload it depends on is not ready, or a deleted one still writes to its volume.
	ReasonWaitingForDependency = "WaitingForDependency"
	// ReasonWaitingForCommand: the command of an earlier release still runs.
	ReasonWaitingForCommand = "WaitingForCommand"
	// ReasonRunningReleaseCommand: its own command runs.
	ReasonRunningReleaseCommand = "RunningReleaseCommand"
	// ReasonReleaseCommandFailed: its command failed: no pod was replaced.
	ReasonReleaseCommandFailed = "ReleaseCommandFailed"
	// ReasonReleaseTimeout: its command took longer than release.timeout.
	ReasonReleaseTimeout = "ReleaseTimeout"
	// ReasonInterrupted: its command was stopped before its end.
	ReasonInterrupted = "Interrupted"
	// ReasonLost: the record of its command's pod is gone.
	ReasonLost = "Lost"
	// ReasonWaitingForRollout: the commands that follow the rollout wait until it is complete.
	ReasonWaitingForRollout = "WaitingForRollout"
	// ReasonRunningPostCommand: a command that follows the rollout runs, or is about to.
	ReasonRunningPostCommand = "RunningPostCommand"
	// ReasonPostCommandFailed: a command that follows the rollout failed; the release serves all the same.
	ReasonPostCommandFailed = "PostCommandFailed"
	// ReasonPostCommandsPassed: all commands that follow the rollout have succeeded.
	ReasonPostCommandsPassed = "PostCommandsPassed"
)

// Reasons of pods and their containers.
const (
	// ReasonPullingImage: the image is being pulled.
	ReasonPullingImage = "PullingImage"
	// ReasonWaitingForPredecessor: the pod it takes over from has not ended yet.
	ReasonWaitingForPredecessor = "WaitingForPredecessor"
	// ReasonCreating: its container is being created.
	ReasonCreating = "Creating"
	// ReasonStarting: its container is being started.
	ReasonStarting = "Starting"
	// ReasonInitializing: its init containers run.
	ReasonInitializing = "Initializing"
	// ReasonInitRetry: an init container failed and is tried again.
	ReasonInitRetry = "InitRetry"
	// ReasonInitFailed: an init container failed for good.
	ReasonInitFailed = "InitFailed"
	// ReasonRestarting: the container ended and is started again.
	ReasonRestarting = "Restarting"
	// ReasonCrashLoop: the container keeps ending.
	ReasonCrashLoop = "CrashLoop"
	// ReasonExited: the container ended by itself.
	ReasonExited = "Exited"
	// ReasonOOMKilled: the container was killed for lack of memory.
	ReasonOOMKilled = "OOMKilled"
	// ReasonContainerRemoved: the container was removed from outside.
	ReasonContainerRemoved = "ContainerRemoved"
	// ReasonNetworkDetached: the container runs, and was taken off its network.
	ReasonNetworkDetached = "NetworkDetached"
	// ReasonStopped: a person stopped it.
	ReasonStopped = "Stopped"
	// ReasonPluginAtWork: a plugin's call works on it.
	ReasonPluginAtWork = "PluginAtWork"
	// ReasonShutdown: it was stopped because it is no longer wanted.
	ReasonShutdown = "Shutdown"
	// ReasonStartupPending: the startup probe has not passed yet.
	ReasonStartupPending = "StartupPending"
	// ReasonStartupFailed: the startup probe used up its failures.
	ReasonStartupFailed = "StartupFailed"
	// ReasonLivenessFailed: the liveness probe used up its failures.
	ReasonLivenessFailed = "LivenessFailed"
	// ReasonUnready: the readiness probe has not passed yet, or fails.
	ReasonUnready = "Unready"
	// ReasonNotObserved: an earlier server process stored what is known; this one has not observed the container yet.
	ReasonNotObserved = "NotObserved"
	// ReasonImageNotFound: the image doesn't exist.
	ReasonImageNotFound = "ImageNotFound"
	// ReasonImageGone: an image that was built is on no node any more.
	ReasonImageGone = "ImageGone"
	// ReasonUnsupportedByProcessRuntime: a plain process can't be what the spec, or who declared it, asks for.
	ReasonUnsupportedByProcessRuntime = "UnsupportedByProcessRuntime"
	// ReasonImageAway: an image that no registry has is on a node that isn't connected.
	ReasonImageAway = "ImageAway"
	// ReasonVolumeNotRemoved: a volume that is to be emptied can't be removed yet.
	ReasonVolumeNotRemoved = "VolumeNotRemoved"
	// ReasonVolumeTaken: the volume of an ordinal is that of another statefulset's claim.
	ReasonVolumeTaken = "VolumeTaken"
	// ReasonVolumeInUse: a running container that isn't Tend's writes to a volume, or a folder, of the pod.
	ReasonVolumeInUse = "VolumeInUse"
	// ReasonOlderVolume: the predecessor's volume holds the ordinal's data, which a new empty volume would hide.
	ReasonOlderVolume = "OlderVolume"
)

// Reasons of jobs, cron jobs and their runs.
const (
	// ReasonDeclared: it runs on request.
	ReasonDeclared = "Declared"
	// ReasonScheduled: it runs when it is due.
	ReasonScheduled = "Scheduled"
	// ReasonSuspended: it runs only on request.
	ReasonSuspended = "Suspended"
	// ReasonIdle: no run is active.
	ReasonIdle = "Idle"
	// ReasonRunning: a run is active.
	ReasonRunning = "Running"
	// ReasonWaiting: a run can't begin, or go on, yet.
	ReasonWaiting = "Waiting"
	// ReasonRunSucceeded: the run of its newest release succeeded.
	ReasonRunSucceeded = "RunSucceeded"
	// ReasonRunFailed: the run that ended last failed.
	ReasonRunFailed = "RunFailed"
	// ReasonOnTime: the newest due time started its run.
	ReasonOnTime = "OnTime"
	// ReasonClockSetBack: the clock is behind due times that were already handled.
	ReasonClockSetBack = "ClockSetBack"
	// ReasonTimedOut: it took longer than its timeout.
	ReasonTimedOut = "TimedOut"
	// ReasonReplaced: another run took its place.
	ReasonReplaced = "Replaced"
	// ReasonNodeLost: its node has not answered for too long.
	ReasonNodeLost = "NodeLost"
	// ReasonRestored: the store was restored from a backup, so what became of it since is unknown.
	ReasonRestored = "Restored"
	// ReasonDeleted: it, or its owner, was deleted.
	ReasonDeleted = "Deleted"
)

// Reasons of labs, in their conditions and their status.
const (
	// ReasonProvisioning: a node makes its container.
	ReasonProvisioning = "Provisioning"
	// ReasonProvisioningFailed: its container could not be started; another one is made.
	ReasonProvisioningFailed = "ProvisioningFailed"
	// ReasonCompleted: its container ended with exit code 0, or a person stopped it.
	ReasonCompleted = "Completed"
	// ReasonLabFailed: its container ended with an error, or its node was lost.
	ReasonLabFailed = "LabFailed"
	// ReasonCleaningUp: its container is being removed.
	ReasonCleaningUp = "CleaningUp"
)

// Reasons of ingresses.
const (
	// ReasonConnected: packets reach the containers of all nodes.
	ReasonConnected = "Connected"
	// ReasonNotConnected: some nodes are apart from the network; the message says which, and why.
	ReasonNotConnected = "NotConnected"
	// ReasonServed: requests reach a pod.
	ReasonServed = "Served"
	// ReasonHostTaken: another scope claimed the host first, and does not share it, or not this path.
	ReasonHostTaken = "HostTaken"
	// ReasonNoService: there is no workload of that name in the scope.
	ReasonNoService = "NoService"
	// ReasonPodsUnreached: a node that serves the ingress can't reach all nodes with its pods.
	ReasonPodsUnreached = "PodsUnreached"
	// ReasonNoReadyPods: the workload has no pod that may serve.
	ReasonNoReadyPods = "NoReadyPods"
	// ReasonNotListening: no proxy could open its listener.
	ReasonNotListening = "NotListening"
	// ReasonOpening: no proxy has opened its listener yet.
	ReasonOpening = "Opening"
	// ReasonCertificatePending: a certificate is being obtained.
	ReasonCertificatePending = "CertificatePending"
	// ReasonCertificateFailed: the last attempt to obtain or renew a certificate failed.
	ReasonCertificateFailed = "CertificateFailed"
	// ReasonMaintenance: a person has requests answered with 503.
	ReasonMaintenance = "Maintenance"
)

// Reasons of the autoscaler.
const (
	// ReasonScaledUp: the mean was above the target.
	ReasonScaledUp = "ScaledUp"
	// ReasonScaledDown: the mean was below the target.
	ReasonScaledDown = "ScaledDown"
	// ReasonOutOfBounds: the replicas were outside min and max.
	ReasonOutOfBounds = "OutOfBounds"
	// ReasonOnTarget: the mean is near the target.
	ReasonOnTarget = "OnTarget"
	// ReasonAtMaximum: the mean is above the target, and there are max replicas.
	ReasonAtMaximum = "AtMaximum"
	// ReasonAtMinimum: the mean is below the target, and there are min replicas.
	ReasonAtMinimum = "AtMinimum"
	// ReasonCoolingDown: the last change is too recent.
	ReasonCoolingDown = "CoolingDown"
	// ReasonNoStats: no pod that has been ready has a sample yet.
	ReasonNoStats = "NoStats"
	// ReasonRolloutInProgress: the load is evaluated when the rollout is over.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonReplicasHeld: another field manager has set replicas.
	ReasonReplicasHeld = "ReplicasHeld"
	// ReasonRefused: a step could not be taken.
	ReasonRefused = "Refused"
)

// Reasons of syncs.
const (
	// ReasonApplied: the source's revision is applied.
	ReasonApplied = "Applied"
	// ReasonFetching: the source is being fetched for the first time, or since the sync was changed.
	ReasonFetching = "Fetching"
	// ReasonFetchFailed: the source can't be read; what is applied stays.
	ReasonFetchFailed = "FetchFailed"
	// ReasonNotVerified: a signature or a checksum is missing or wrong; what is applied stays.
	ReasonNotVerified = "NotVerified"
	// ReasonInvalidManifests: a file of the source is wrong; nothing of the revision is applied.
	ReasonInvalidManifests = "InvalidManifests"
	// ReasonNotAllowed: the source has what only a trusted one may have, or no sync; nothing of the revision is applied.
	ReasonNotAllowed = "NotAllowed"
	// ReasonFieldOwned: another field manager set a field to another value; nothing of the revision is applied.
	ReasonFieldOwned = "FieldOwned"
	// ReasonApplyRefused: the objects don't fit those that are stored; nothing of the revision is applied.
	ReasonApplyRefused = "ApplyRefused"
)

// Reasons of nodes.
const (
	// ReasonDiskFull: the disk has no room: of a server, its store takes no writes; of a container engine, it may make
	// no containers.
	ReasonDiskFull = "DiskFull"
	// ReasonNeverReported: a machine joined under the name and never described itself: its agent doesn't run, or another
	// program joined.
	ReasonNeverReported = "NeverReported"
)
