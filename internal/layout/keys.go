package layout

import (
	"strings"

	"tend.dev/tend/api"
)

// The prefixes of the store, each with its one writer.
const (
	DesiredPrefix      = "/desired/"       // manifests with metadata: the API
	StatusPrefix       = "/status/"        // statuses: the kind's controller
	TasksPrefix        = "/tasks/"         // desired halves of tasks: the control plane, forward only
	SlotsPrefix        = "/slots/"         // which task fills a slot: created with the task
	ReleasesPrefix     = "/releases/"      // snapshots: the rollout controller
	ImagesPrefix       = "/images/"        // image requests: the workload's controller
	FrozenPrefix       = "/frozen/"        // slots stopped on purpose: the API
	NamesPrefix        = "/names/"         // claims of <scope>-<name>: the API
	ActualTasksPrefix  = "/actual/tasks/"  // observed halves of tasks: the node's agent
	ActualNodesPrefix  = "/actual/nodes/"  // node facts: that agent
	ActualImagesPrefix = "/actual/images/" // image states: that agent
	AlivePrefix        = "/alive/"         // heartbeats, bound to a lease: that agent
	ConfigPrefix       = "/config/"        // buckets, encrypted: the API
	LeasesPrefix       = "/leases/"        // elections: the server
	ClusterKey         = "/cluster"        // the store's uid and key material's fingerprint: the first boot
	SchemaKey          = "/schema"         // the layout's version: the server that boots
)

// ObjectKey is where an object's manifest lies.
func ObjectKey(r api.Ref) string { return DesiredPrefix + refPath(r) }

// StatusKey is where an object's status lies.
func StatusKey(r api.Ref) string { return StatusPrefix + refPath(r) }

// TaskKey is where the desired half of a task lies.
func TaskKey(id string) string { return TasksPrefix + id }

// TaskStatusKey is where the observed half of a task lies.
func TaskStatusKey(id string) string { return ActualTasksPrefix + id }

// SlotKey is where the task of a slot is named.
func SlotKey(r api.Ref, slot string) string { return SlotsPrefix + refPath(r) + "/" + slot }

// ReleaseKey is where a release lies.
func ReleaseKey(r api.Ref, id string) string { return ReleasesPrefix + refPath(r) + "/" + id }

// ReleasePrefix holds the releases of an object.
func ReleasePrefix(r api.Ref) string { return ReleasesPrefix + refPath(r) + "/" }

// ImageKey is where a workload's image request lies.
func ImageKey(r api.Ref) string { return ImagesPrefix + refPath(r) }

// ImageStatusKey is where a node's answer to it lies.
func ImageStatusKey(node string, r api.Ref) string {
	return ActualImagesPrefix + node + "/" + refPath(r)
}

// FrozenKey is where a frozen slot is marked.
func FrozenKey(r api.Ref, slot string) string { return FrozenSetPrefix(r) + slot }

// FrozenSetPrefix holds the frozen slots of an object.
func FrozenSetPrefix(r api.Ref) string { return FrozenPrefix + refPath(r) + "/" }

// NameKey is the claim of <scope>-<name>. Its value is the Ref of the owner.
func NameKey(r api.Ref) string { return NamesPrefix + r.AppID() }

// NodeKey is where a node's facts lie.
func NodeKey(id string) string { return ActualNodesPrefix + id }

// AliveKey is a node's heartbeat.
func AliveKey(id string) string { return AlivePrefix + id }

func refPath(r api.Ref) string { return string(r.Kind) + "/" + r.Scope + "/" + r.Name }

// ParseRef reads kind/scope/name from the head of a path, and returns what follows.
func ParseRef(path string) (ref api.Ref, rest string, ok bool) {
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 3 {
		return api.Ref{}, "", false
	}
	if len(parts) == 4 {
		rest = parts[3]
	}
	return api.Ref{Kind: api.Kind(parts[0]), Scope: parts[1], Name: parts[2]}, rest, true
}

// ConfigScopePrefix holds a scope's bucket: one encrypted value a key.
func ConfigScopePrefix(scope string) string { return ConfigPrefix + "scopes/" + scope + "/" }

// ConfigAppPrefix holds the bucket of one app of a scope.
func ConfigAppPrefix(scope, name string) string {
	return ConfigPrefix + "apps/" + scope + "/" + name + "/"
}
