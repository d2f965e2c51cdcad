package api

import (
	"encoding/json"
	"time"
)

// ListResult is a listing and the revision it was read at: watch from there to miss nothing.
type ListResult[T any] struct {
	Items    []T   `json:"items"`
	Revision int64 `json:"revision"`
}

// WatchEventType names a change that a watch saw.
type WatchEventType string

// The events of a watch.
const (
	// WatchPut: the object, or its status, was written; Object is its newest form.
	WatchPut WatchEventType = "put"
	// WatchDelete: the object is gone; Object has only its kind, scope and name.
	WatchDelete WatchEventType = "delete"
	// WatchBookmark: nothing happened. It keeps the stream alive, and the first one says that the listing is complete.
	WatchBookmark WatchEventType = "bookmark"
	// WatchError: the stream ends; Problem says why. Status 410 means: list again.
	WatchError WatchEventType = "error"
)

// WatchEvent is one line of a watch.
type WatchEvent struct {
	Type WatchEventType `json:"type"`
	// Revision to resume from with since: everything up to it was sent. The lines of one commit but the last carry the
	// revision before, and after a resume they may come again. 0 while the listing a watch begins with is not complete: a
	// watch that is cut until then begins again, and what only the cut one listed is gone.
	Revision int64    `json:"revision"`
	Object   *Object  `json:"object,omitempty"`
	Problem  *Problem `json:"problem,omitempty"`
}

// VerbResult is the answer of a verb that writes an object: scale, restart, rollback.
type VerbResult struct {
	Object Ref `json:"object"`
	// Changed is false where the object was already as asked.
	Changed bool `json:"changed"`
	// Generation to wait for in status.observedGeneration.
	Generation int64 `json:"generation"`
	Revision   int64 `json:"revision"`
	// PreviousReplicas is the count before a scale, Replicas the count after it, or the one that a restart found.
	PreviousReplicas *int `json:"previousReplicas,omitempty"`
	Replicas         *int `json:"replicas,omitempty"`
	// Retried is set on an object that has the count of a scale already and was in trouble: what failed is tried again at
	// once, so its revision is that of this scale.
	Retried bool `json:"retried,omitempty"`
	// Warnings lists facts about the outcome that a person should know. They refuse nothing.
	Warnings []string `json:"warnings,omitempty"`
	// Release is the release that a rollback returns to. Config lists the values changed since that release. They keep
	// their current values unless WithConfig is set, which restores the release's environment.
	Release    string            `json:"release,omitempty"`
	Config     ConfigDifferences `json:"config,omitempty"`
	WithConfig bool              `json:"withConfig,omitempty"`
	// Unreleased is the image that a rollback turns back from, if no release has it: it can't be had, or not yet.
	Unreleased string `json:"unreleased,omitempty"`
	// DryRun is set where nothing was stored; Plan are the actions that would run then.
	DryRun bool            `json:"dryRun,omitempty"`
	Plan   []PlannedAction `json:"plan,omitempty"`
	// Restart is the new nonce of a restart: pods whose task carries it are new.
	Restart string `json:"restart,omitempty"`
	// Retries: a release whose command had failed is tried again, and no pod was made outdated. Empty if there is no
	// such release.
	Retries string `json:"retries,omitempty"`
	// Build is the id of the build an object is made of from now on.
	Build string `json:"build,omitempty"`
	// Unfrozen are the pods whose frozen mark was cleared.
	Unfrozen []string `json:"unfrozen,omitempty"`
	// Volumes lists the volumes that a rebootstrap removes.
	Volumes []string `json:"volumes,omitempty"`
}

// DeleteResult is the answer of a delete. The object is gone when a read answers 404.
type DeleteResult struct {
	Object Ref `json:"object"`
	// Already is set where deletion had been asked for before.
	Already   bool      `json:"already,omitempty"`
	DeletedAt time.Time `json:"deletedAt"`
	Revision  int64     `json:"revision"`
	// Volumes lists the volumes of a statefulset's ordinals, which stay. Remove them with the engine's own commands.
	Volumes []string `json:"volumes,omitempty"`
	// RemovedVolumes lists the volumes removed with the pods, RemovedConfig the removed keys of the object's bucket,
	// both on request. A node that doesn't answer until the object is gone keeps its volumes.
	RemovedVolumes []string `json:"removedVolumes,omitempty"`
	RemovedConfig  []string `json:"removedConfig,omitempty"`
	// Pruned are the objects that a sync had created and that go with it.
	Pruned []Ref `json:"pruned,omitempty"`
	// Dependents are the objects that need it and stay.
	Dependents []Dependent `json:"dependents,omitempty"`
	// DryRun is set where nothing was deleted.
	DryRun bool `json:"dryRun,omitempty"`
}

// Dependent is an object that needs another, and the field that says so. Config is set of a sink or a webhook that
// reads a key of its config: that key is removed with it.
type Dependent struct {
	Ref
	Field  string `json:"field"`
	Config string `json:"config,omitempty"`
}

// StopResult is the answer of stop and start.
type StopResult struct {
	Object Ref `json:"object"`
	// Pods that were stopped, frozen or thawed.
	Pods []string `json:"pods"`
	// Runs of a job that were stopped: no attempt follows.
	Runs []string `json:"runs,omitempty"`
	// Frozen is set if the pods stay stopped until a person starts them.
	Frozen   bool  `json:"frozen,omitempty"`
	Changed  bool  `json:"changed"`
	Revision int64 `json:"revision,omitempty"`
}

// ReleaseInfo is a release as listings show it: without its spec and environment.
type ReleaseInfo struct {
	ID       string `json:"id"`
	Number   int    `json:"number"`
	Kind     Kind   `json:"kind"`
	Scope    string `json:"scope"`
	Name     string `json:"name"`
	SpecHash string `json:"specHash"`
	EnvHash  string `json:"envHash,omitempty"`
	Image    string `json:"image"`
	ImageID  string `json:"imageID,omitempty"`
	// Chart is the name and the version of the chart of an application instance.
	Chart string `json:"chart,omitempty"`
	// HelmRevision is the number that it has in `helm history`, and HelmChart the version of the chart there; 0 and empty
	// if the cluster has not said.
	HelmRevision int64  `json:"helmRevision,omitempty"`
	HelmChart    string `json:"helmChart,omitempty"`
	// RolledBackFrom is the release whose snapshot this one repeats.
	RolledBackFrom string    `json:"rolledBackFrom,omitempty"`
	Generation     int64     `json:"generation"`
	Reason         string    `json:"reason"`
	CreatedAt      time.Time `json:"createdAt"`
	// Change is the request that it was made after; nil where none is recorded.
	Change *Change `json:"change,omitempty"`
	// Changed are the fields that differ from the release before, in the manifest's words. config.KEY is a value of a
	// bucket. Empty where the one before is not kept.
	Changed []string `json:"changed,omitempty"`
	// Current marks the one that pods are updated to; Good those with which every pod was once healthy.
	Current bool `json:"current,omitempty"`
	Good    bool `json:"good,omitempty"`
	// Failed is the reason why its rollout failed; empty if it didn't. Message is the whole cause.
	Failed  string `json:"failed,omitempty"`
	Message string `json:"message,omitempty"`
	// Replaced: the next release of the application instance took its place before the cluster said whether it is ready.
	Replaced bool `json:"replaced,omitempty"`
	// Pods counts the live pods that serve it.
	Pods int `json:"pods"`
	// Runs are its commands that were asked for, oldest first.
	Runs []Run `json:"runs,omitempty"`
}

// DecodeSpec reads an object's spec into a typed one.
func DecodeSpec[T any](o Object) (T, error) {
	var spec T
	err := json.Unmarshal(o.Spec, &spec)
	return spec, err
}

// DecodeStatus reads an object's status into a typed one; an object without status gives the zero value.
func DecodeStatus[T any](o Object) (T, error) {
	var status T
	if len(o.Status) == 0 {
		return status, nil
	}
	err := json.Unmarshal(o.Status, &status)
	return status, err
}

// NodeInfo is a node as listings show it.
type NodeInfo struct {
	// Losses are set if it was lost within the last hour.
	Losses *NodeLosses `json:"losses,omitempty"`
	NodeStatus
	// Spec is the spec of the node's object, if it exists.
	Spec NodeSpec `json:"spec,omitzero"`
	// Alive is set while the node's heartbeat is valid. Since is the time of the last change of Alive; zero while it
	// is unknown.
	Alive bool      `json:"alive"`
	Since time.Time `json:"since,omitzero"`
	// Unheard is set while no server hears it, though it is alive: it gets no new pods then. LastHeard is when one did,
	// if that is known.
	Unheard   bool      `json:"unheard,omitempty"`
	LastHeard time.Time `json:"lastHeard,omitzero"`
	// Pods counts the live pods on it.
	Pods int `json:"pods"`
	// Role is server, ingress (it serves ingresses) or worker.
	Role string `json:"role,omitempty"`
}

// The roles of nodes. One of a server serves ingresses too, unless it is declared otherwise.
const (
	NodeOfServer = "server"
	NodeIngress  = "ingress"
	NodeWorker   = "worker"
)

// NodeDownResult lists what became of the pods of a node that is off.
type NodeDownResult struct {
	Node string `json:"node"`
	// Pods lists the pods that count as ended and are replaced.
	Pods []string `json:"pods,omitempty"`
	// Volumes lists the volumes with data on a removed node.
	Volumes []string `json:"volumes,omitempty"`
	// Data lists the pods with data on the node. They wait for it; if the node was removed, they start elsewhere with
	// empty volumes.
	Data []PodVolumes `json:"data,omitempty"`
	// Rotate lists what a node that was forced out could read.
	Rotate   []string `json:"rotate,omitempty"`
	Revision int64    `json:"revision"`
}

// PodVolumes is a pod with the volumes that have its data.
type PodVolumes struct {
	Pod     string   `json:"pod"`
	Object  Ref      `json:"object"`
	Volumes []string `json:"volumes"`
}

// Version is the answer of /version.
type Version struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	GoVersion string `json:"goVersion"`
	// API is the version of the paths: v1.
	API string `json:"api"`
}

// UnknownContainers decides what becomes of containers of the cluster that the store doesn't know.
type UnknownContainers string

// What may become of them: nothing, and they stay quarantined, or they are stopped and removed without their volumes.
const (
	UnknownKeep UnknownContainers = "keep"
	UnknownStop UnknownContainers = "stop"
)

// ResumeResult lists what a resume did with the containers whose tasks the store didn't know, by their names.
type ResumeResult struct {
	// Adopted took the places of pods of the store.
	Adopted []string `json:"adopted,omitempty"`
	Stopped []string `json:"stopped,omitempty"`
	// Unknown still run, quarantined.
	Unknown []string `json:"unknown,omitempty"`
	// Absent are the nodes that weren't connected: what runs there was not compared with the store.
	Absent []string `json:"absent,omitempty"`
}

// HeaderStale is set on the answer of a read that may lack what another server has stored before, with the reason.
// Every other read is as new as each write that was answered before it was asked.
const HeaderStale = "Tend-Stale"

// HeaderPaused is set on every answer of a paused server, with the reason.
const HeaderPaused = "Tend-Paused"

// Health is the body of /healthz.
type Health struct {
	// Status is "ok".
	Status string `json:"status"`
}

// Readiness is the body of /readyz: with 200 when Ready, with 503 when not.
type Readiness struct {
	Ready bool `json:"ready"`
	// Missing says in words what is waited for.
	Missing []string `json:"missing,omitempty"`
}
