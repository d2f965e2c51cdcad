package api

import (
	"encoding/json"
	"maps"
	"time"
)

// Unscoped is the scope of an asset or a registry that was declared without one.
const Unscoped = "_"

// Ref names one object.
type Ref struct {
	Kind  Kind   `json:"kind"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
}

// String is the form people type and messages show: kind/scope/name, or kind/name without a scope.
func (r Ref) String() string {
	if r.Scope == "" || r.Scope == Unscoped {
		return string(r.Kind) + "/" + r.Name
	}
	return string(r.Kind) + "/" + r.Scope + "/" + r.Name
}

// AppID is <scope>-<name>: the prefix of container names, claimed in the store so that no two objects share it.
func (r Ref) AppID() string { return r.Scope + "-" + r.Name }

// Object is a stored manifest with its metadata and, when the API answers, its status.
type Object struct {
	Kind     Kind            `json:"kind"`
	Scope    string          `json:"scope"`
	Name     string          `json:"name"`
	Metadata Metadata        `json:"metadata"`
	Spec     json.RawMessage `json:"spec"`
	// Status is joined in by the API from its own key; it is never stored beside the spec.
	Status json.RawMessage `json:"status,omitempty"`
}

// Ref names the object.
func (o Object) Ref() Ref { return Ref{Kind: o.Kind, Scope: o.Scope, Name: o.Name} }

// Metadata holds what Tend knows of an object beyond its spec. The API writes it.
type Metadata struct {
	UID string `json:"uid,omitempty"`
	// Generation starts at 1 and grows when the spec changes, and only then.
	Generation int64 `json:"generation,omitempty"`
	// Revision is the store revision of the last write, filled in when read.
	Revision    int64             `json:"revision,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Stamps are facts the API lays beside the spec instead of writing into it: see the Stamp constants.
	Stamps     map[string]string `json:"stamps,omitempty"`
	CreatedAt  time.Time         `json:"createdAt,omitzero"`
	UpdatedAt  time.Time         `json:"updatedAt,omitzero"`
	DeletedAt  *time.Time        `json:"deletedAt,omitempty"`
	Finalizers []string          `json:"finalizers,omitempty"`
	Owners     []Ref             `json:"owners,omitempty"`
	// Change is the last request that may have led to a release; nil where none is recorded.
	Change *Change `json:"change,omitempty"`
	// Trace is the trace of the last write.
	Trace *Trace `json:"trace,omitempty"`
	// Fields records which manager set which field, and when. `tend blame` reads it.
	Fields json.RawMessage `json:"fields,omitempty"`
}

// Change is a request that may lead to a release.
type Change struct {
	// Verb is apply, config, restart, rollback, build, rebootstrap or recreate.
	Verb string `json:"verb"`
	// Actor made the request: a user of the host, or an address with a token. Empty if unknown.
	Actor string `json:"actor,omitempty"`
}

// Deleting reports whether deletion was asked for and finalizers are still at work.
func (m Metadata) Deleting() bool { return m.DeletedAt != nil }

// CopyStamps returns a copy of the stamps, to be changed; it is never nil.
func (m Metadata) CopyStamps() map[string]string {
	stamps := map[string]string{}
	maps.Copy(stamps, m.Stamps)
	return stamps
}

// Keys of Metadata.Stamps.
const (
	// StampRestart is a nonce that grows with every `tend restart`: slots whose task carries another one are outdated.
	StampRestart = "restart"
	// StampRetry is a nonce that grows with every `tend restart` that finds a release whose command failed: that is tried
	// again, and no slot is outdated by it.
	StampRetry = "retry"
	// StampScaled marks an object whose replicas are those of the last `tend scale`: an apply that names none keeps them.
	// It holds the replicas of the manifest that was applied last, or "true" if that names none.
	StampScaled = "scaled"
	// StampWipe marks an object that is being deleted with the volumes of its ordinals.
	StampWipe = "wipe-volumes"
	// StampRebootstrap is the beginning of keys that end in an ordinal; the value is a nonce that grows with every
	// `tend rebootstrap` of it: a task that carries another one is created again, with empty volumes.
	StampRebootstrap = "rebootstrap/"
	// StampKeepVolumes is the beginning of keys that end in an ordinal; the value is the rebootstrap nonce under which the
	// ordinal is made again and keeps its volumes.
	StampKeepVolumes = "keepvolumes/"
	// StampRollback names the release whose image a rollback pinned; the next change of the spec clears it.
	StampRollback = "rollback"
	// StampRollbackConfig is set beside StampRollback: RollbackKeepsConfig, or for a rollback that returns to the
	// release's environment too, the keyed hash of what the buckets gave when it was asked for. Absent where an earlier
	// version wrote StampRollback: its rollbacks took the environment along.
	StampRollbackConfig = "rollbackconfig"
	// StampAssets is a JSON object of the assets a consumer refers to: reference (scope.name.key) → digest (sha256:<hex>).
	// An apply of an asset restamps all its consumers in the same transaction.
	StampAssets = "assets"
	// StampHookAssets is the same of the files its webhooks send: no container has them.
	StampHookAssets = "hookassets"
	// StampFiles is a JSON object of an asset's own files: key → digest.
	StampFiles = "files"
	// StampQuietEnv is the keyed hash of the environment that is in force without having replaced containers: config was
	// set with restart=false. The next release carries it.
	StampQuietEnv = "quietenv"
	// StampTraffic holds what a person let become of an ingress's requests: paused, or maintenance with a message behind
	// a colon.
	StampTraffic = "traffic"
	// StampSync is a nonce that grows with every `tend sync now`: the source is polled at once.
	StampSync = "sync"
	// StampApplySet names the set (a hash of the sources' identity) whose --prune may remove the object.
	StampApplySet = "applyset"
	// StampFormerSet names the set that the object was taken over from: its files may still declare the object.
	StampFormerSet = "formerset"
	// StampCreator is the field manager that created the object; absent for `apply`. See Object.Creator.
	StampCreator = "creator"
	// StampConfined marks an object that a sync created that is not trusted, or that a deployer declared or changed last:
	// what the server, or an ingress, calls for it is never on the caller's own machine. See Object.Confined.
	StampConfined = "confined"
	// StampGivenPorts lists Tend's own ports that the object got from one who may give them: numbers with spaces between.
	// They stay listed while the object exists.
	StampGivenPorts = "givenports"
	// StampMacro is the macro (kind/scope/name) that a plugin made the object of: its containers may run that plugin's
	// commands. The broker of plugins alone sets it.
	StampMacro = "macro"
	// StampDotted is the name that a plugin gave the object with dots (main.bk.b001). The object's own has dashes in
	// their place; its containers are called <scope>-<dotted name>.<slot>, for plugins search for them so.
	StampDotted = "dotted-name"
	// StampHost is the host that an ingress or a lab claims, and since when: see Object.HostSince.
	StampHost = "host"
)

// Confined reports whether calls that are made for the object, and its builds, must stay away from the caller's own
// machine, and whether its programs run in containers alone.
func (o Object) Confined() bool { return o.Metadata.Stamps[StampConfined] != "" }

// FinalizerTasks keeps a workload until its tasks are gone.
const FinalizerTasks = "tend/tasks"
