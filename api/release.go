package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Release is the immutable snapshot of what was rolled out.
type Release struct {
	// ID is v<Number>; Number grows by one with each release of the object and is never used again.
	ID     string `json:"id"`
	Number int    `json:"number"`
	Kind   Kind   `json:"kind"`
	Scope  string `json:"scope"`
	Name   string `json:"name"`
	// Spec is the object's spec without replicas.
	Spec json.RawMessage `json:"spec"`
	// SpecHash was computed by version HashVersion of the hash; see internal/core/spechash.
	SpecHash    string `json:"specHash"`
	HashVersion int    `json:"hashVersion"`
	// EnvHash is a keyed hash of the merged environment.
	EnvHash string `json:"envHash,omitempty"`
	// Env is the merged environment, encrypted under the cluster's key.
	Env []byte `json:"env,omitempty"`
	// Image is the reference as declared, ImageID what it resolved to, ImageDigest its registry digest if it has one.
	Image       string `json:"image"`
	ImageID     string `json:"imageID"`
	ImageDigest string `json:"imageDigest,omitempty"`
	// ImageArch is the architecture of ImageID as Go names it; empty where it isn't known.
	ImageArch string `json:"imageArch,omitempty"`
	// ImageRuntime is the runtime of the node that found the image; empty in releases of earlier versions. See
	// RequiredRuntime.
	ImageRuntime string `json:"imageRuntime,omitempty"`
	// Build is the source of the image; nil for one that was pulled.
	Build *ImageBuild `json:"build,omitempty"`
	// Confined was the object's: see Object.Confined.
	Confined bool `json:"confined,omitempty"`
	// AssetDigests are the digests of the assets the spec mounts.
	AssetDigests map[string]string `json:"assetDigests,omitempty"`
	// RolledBackFrom is the release whose snapshot this one repeats, if it came from a rollback.
	RolledBackFrom string `json:"rolledBackFrom,omitempty"`
	// EnvOver is set beside RolledBackFrom: the keyed hash of what the buckets and the spec gave when it was made. It
	// differs from EnvHash where the rollback returned to the release's environment too; see StampRollbackConfig.
	EnvOver string `json:"envOver,omitempty"`
	// EnvironmentOf is set on a release that only took over the buckets as they were when an ordinal was made again: the
	// release whose other pods count as updated, though their environment is an earlier one.
	EnvironmentOf string `json:"environmentOf,omitempty"`
	// Restart is the newest request of `tend restart` when it was made.
	Restart string `json:"restart,omitempty"`
	// Steps holds the steps before and after its rollout; nil without steps. The return to an earlier release runs no
	// steps.
	Steps      *ReleaseSteps `json:"steps,omitempty"`
	Generation int64         `json:"generation"`
	Reason     string        `json:"reason"`
	// Changed are the fields in which it differs from the release before, which may be gone by now. Earlier versions of
	// Tend recorded none.
	Changed []string `json:"changed,omitempty"`
	// Change is the request that it was made after; nil where none is recorded.
	Change    *Change   `json:"change,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// ReleaseSteps holds the steps that run before the rollout touches a pod, and after it is complete. They are copied
// from the spec when the release is created and never change.
type ReleaseSteps struct {
	// DependsOn are the workloads that must be ready first, as depends_on.workloads names them.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Before are the commands that must have succeeded first, After those run at the end, each in this order.
	Before []TaskRole `json:"before,omitempty"`
	After  []TaskRole `json:"after,omitempty"`
	// Timeout limits each command.
	Timeout Duration `json:"timeout,omitempty"`
}

// DefaultReleaseTimeout limits a command of a release.
const DefaultReleaseTimeout = 10 * time.Minute

// Owner names the workload the release belongs to.
func (r Release) Owner() Ref { return Ref{Kind: r.Kind, Scope: r.Scope, Name: r.Name} }

// PinnedDigest returns the digest that an image reference names itself (web@sha256:…); empty if it names none, or is a
// folder.
func PinnedDigest(image string) string {
	if strings.HasPrefix(image, "/") {
		return ""
	}
	_, digest, _ := strings.Cut(image, "@")
	return digest
}

// RequiredArch returns the architecture that a node must have; empty is any. What a registry has may be there for
// several architectures, with one digest and another id on each, so it requires none.
func (r Release) RequiredArch() string {
	if r.ImageDigest != "" {
		return ""
	}
	return r.ImageArch
}

// RequiredRuntime returns the name of the runtime that has the image; empty is unknown.
func (r Release) RequiredRuntime() string {
	return runtimeOf(r.ImageRuntime, r.ImageArch, r.ImageDigest)
}

// runtimeOf returns the name of the runtime that has an image. Where an earlier version didn't record it, an
// architecture or a digest says so: plain processes report neither.
func runtimeOf(recorded, arch, digest string) string {
	if recorded == "" && arch+digest != "" {
		return RuntimeDocker
	}
	return recorded
}

// Fingerprint is the same for releases whose containers are the same.
func (r Release) Fingerprint() string {
	parts, _ := json.Marshal([]any{r.Spec, r.EnvHash, r.ImageID, r.AssetDigests}) // a spec that was stored is JSON
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:8])
}

// Root is the release that this one differs from in its environment alone; itself for all but the releases that set
// EnvironmentOf.
func (r Release) Root() string {
	if r.EnvironmentOf != "" {
		return r.EnvironmentOf
	}
	return r.ID
}

// Repeats reports whether pods of earlier run what pods of r run: r differs in a quiet change of the environment at
// most, or is the return to earlier.
func (r Release) Repeats(earlier Release) bool {
	if r.Root() == earlier.Root() {
		return true
	}
	return r.RolledBackFrom == earlier.ID && r.SpecHash == earlier.SpecHash && r.EnvHash == earlier.EnvHash &&
		r.ImageID == earlier.ImageID
}

// ReleaseOutcome is the outcome of a release's rollout. A release that was good once stays good.
type ReleaseOutcome struct {
	Good bool `json:"good,omitempty"`
	// Reason and Message say why it failed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// HelmRevision is the newest revision of Helm that the release of an application instance became, and HelmChart the
	// version of the chart in it; 0 and empty if the cluster has not said.
	HelmRevision int64  `json:"helmRevision,omitempty"`
	HelmChart    string `json:"helmChart,omitempty"`
}

// RolloutPhase is the progress of a rollout.
type RolloutPhase string

// The phases of a rollout.
const (
	RolloutProgressing RolloutPhase = "progressing"
	RolloutComplete    RolloutPhase = "complete"
	RolloutPaused      RolloutPhase = "paused" // a slot failed; outdated slots are left alone until it is healthy
	RolloutRollingBack RolloutPhase = "rollingback"
	RolloutRolledBack  RolloutPhase = "rolledback"
)

// RolloutStatus is the state of the newest rollout: all the planner needs to go on after a crash.
type RolloutStatus struct {
	Phase RolloutPhase `json:"phase"`
	// TargetRelease is the release that the rollout updates pods to: the newest, or the last good one after an
	// automatic rollback.
	TargetRelease string `json:"targetRelease"`
	// TurnedAt is the time at which TargetRelease became the target. Pods of it that failed earlier belong to an
	// earlier try.
	TurnedAt time.Time `json:"turnedAt,omitzero"`
	// Replicas is the number of pods it runs. It may lag behind the spec while Tend looks for a newer spec's image.
	Replicas int `json:"replicas"`
	// LastGoodRelease is the last one with which every pod was healthy.
	LastGoodRelease string `json:"lastGoodRelease,omitempty"`
	// GoodRestart is the StampRestart under which they were.
	GoodRestart string `json:"goodRestart,omitempty"`
	// Healing is set while pods are replaced or restarted that no change of the object asked to, until the next rollout.
	Healing   bool      `json:"healing,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Reason    string    `json:"reason,omitempty"`
	Message   string    `json:"message,omitempty"`
	// Failed marks what an automatic rollback turned away from. It is not tried again until one of its parts changes.
	Failed *FailedRollout `json:"failed,omitempty"`
}

// FailedRollout identifies an attempt that was rolled back.
type FailedRollout struct {
	Release    string `json:"release"`
	Hash       string `json:"hash"`
	EnvHash    string `json:"envHash,omitempty"`
	ImageID    string `json:"imageID,omitempty"`
	Generation int64  `json:"generation"`
	Restart    string `json:"restart,omitempty"`
	Pull       string `json:"pull,omitempty"` // StampPull
	Reason     string `json:"reason"`
	Message    string `json:"message,omitempty"`
	// Config are the values that differ between the release that was returned to, whose environment came back, and this
	// one.
	Config ConfigDifferences `json:"config,omitempty"`
	// Next is the step that helps, where it is known; Slot the one that failed.
	Next string `json:"next,omitempty"`
	Slot string `json:"slot,omitempty"`
	// LastLog holds the last lines of the container that failed.
	LastLog []string  `json:"lastLog,omitempty"`
	At      time.Time `json:"at"`
}

// WorkloadStatus is the status of a deployment or a statefulset. Its controller alone writes it.
type WorkloadStatus struct {
	// ObservedGeneration is the generation this status describes.
	ObservedGeneration int64 `json:"observedGeneration"`
	// ObservedRevision is the revision of the object's last write that this status describes: it also moves with
	// writes that don't change the spec (restart, rollback).
	ObservedRevision int64 `json:"observedRevision"`
	// Replicas are wanted, Running and Ready of any release, Updated of the target release and good.
	Replicas int `json:"replicas"`
	Running  int `json:"running"`
	Ready    int `json:"ready"`
	Updated  int `json:"updated"`
	Frozen   int `json:"frozen,omitempty"`
	// Unknown are pods whose node is silent: they were ready when it was last heard of, and are not among Ready. It is
	// counted when a status is read; it is not stored here.
	Unknown int `json:"unknown,omitempty"`
	// Release is the target release; Image and ImageID what it runs.
	Release string `json:"release,omitempty"`
	Image   string `json:"image,omitempty"`
	ImageID string `json:"imageID,omitempty"`
	// LastReleaseNumber is the highest number ever used, so that numbers are never used again.
	LastReleaseNumber int `json:"lastReleaseNumber,omitempty"`
	// Pulled is the StampPull under which a node had the image. The request for another pull is answered then, though
	// the image's name may vanish from the node later.
	Pulled  string         `json:"pulled,omitempty"`
	Rollout *RolloutStatus `json:"rollout,omitempty"`
	// Staying are pods that should leave their node, such as one that is drained, and that no other node takes; 100 at
	// most.
	Staying []StayingPod `json:"staying,omitempty"`
	// Notified is the last outcome that on_deploy was notified of, or would have been if it named a target.
	Notified *NotifiedOutcome `json:"notified,omitempty"`
	// Outcomes maps each kept release to the outcome of its rollout.
	Outcomes map[string]ReleaseOutcome `json:"outcomes,omitempty"`
	// Unhealthy holds the probes for which on_probe was notified of a failure and not yet of the recovery: task/probe
	// → transition.
	Unhealthy  map[string]int `json:"unhealthy,omitempty"`
	Conditions []Condition    `json:"conditions,omitempty"`
	// Autoscale is the autoscaler's record, laid beside the rest when a status is read; it is not stored here.
	Autoscale *AutoscaleStatus `json:"autoscale,omitempty"`
}

// StayingPod is a pod that stays where it should not be.
type StayingPod struct {
	Pod string `json:"pod"`
	// Message says why it should leave, and why no other node takes it; Next is the step that helps.
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

// NotifiedOutcome is the outcome of a rollout. Each is notified once: again when another release, restart or outcome
// follows.
type NotifiedOutcome struct {
	// Number counts the outcomes of the workload.
	Number  int    `json:"number"`
	Release string `json:"release"`
	Restart string `json:"restart,omitempty"`
	// Outcome is success or failure.
	Outcome string    `json:"outcome"`
	At      time.Time `json:"at"`
}

// The outcomes of a rollout.
const (
	OutcomeSuccess = "success"
	OutcomeFailure = "failure"
)
