package layout

import (
	"strings"

	"tend.dev/tend/api"
)

// The prefixes of the store, each with its one writer.
const (
	DesiredPrefix       = "/desired/"        // manifests with metadata: the API
	StatusPrefix        = "/status/"         // statuses: the kind's controller
	TasksPrefix         = "/tasks/"          // desired halves of tasks: the control plane, forward only
	SlotsPrefix         = "/slots/"          // which task fills a slot: created with the task
	ReleasesPrefix      = "/releases/"       // snapshots: the rollout controller
	ImagesPrefix        = "/images/"         // image requests: the workload's controller
	FrozenPrefix        = "/frozen/"         // slots stopped on purpose: the API
	HoldsPrefix         = "/holds/"          // objects that a plugin's call works on, bound to a lease: the API
	NamesPrefix         = "/names/"          // claims of <scope>-<name>: the API
	ActualTasksPrefix   = "/actual/tasks/"   // observed halves of tasks: the node's agent
	ActualNodesPrefix   = "/actual/nodes/"   // node facts: that agent
	ActualImagesPrefix  = "/actual/images/"  // image states: that agent
	ActualIngressPrefix = "/actual/ingress/" // proxies: that agent
	CertsPrefix         = "/certs/"          // certificates and their keys, encrypted, and their locks: the proxies
	AlivePrefix         = "/alive/"          // heartbeats, bound to a lease: that agent
	ConfigPrefix        = "/config/"         // buckets, encrypted: the API
	RunsPrefix          = "/runs/"           // runs: created by who triggers them, then written by their owner's controller
	DeliveriesPrefix    = "/deliveries/"     // webhook calls: created with what they tell of, then the delivery controller
	AutoscalePrefix     = "/autoscale/"      // autoscaler statuses: the autoscaler
	LeasesPrefix        = "/leases/"         // elections: the server
	ClusterKey          = "/cluster"         // the store's uid and key material's fingerprint: the first boot
	SchemaKey           = "/schema"          // the layout's version: the server that boots
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

// HoldKey is where a call's hold of an object lies.
func HoldKey(scope, name, call string) string { return HoldSetPrefix(scope, name) + call }

// HoldSetPrefix holds the holds of the objects of a name.
func HoldSetPrefix(scope, name string) string { return HoldsPrefix + scope + "/" + name + "/" }

// ParseHold reads scope and name off the key of a hold.
func ParseHold(key string) (scope, name string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(key, HoldsPrefix), "/")
	if len(parts) != 3 || !strings.HasPrefix(key, HoldsPrefix) {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// RunKey is where a run lies.
func RunKey(r api.Ref, id string) string { return RunSetPrefix(r) + id }

// RunSetPrefix holds the runs of an object.
func RunSetPrefix(r api.Ref) string { return RunsPrefix + refPath(r) + "/" }

// DeliveryKey is where a webhook call lies.
func DeliveryKey(r api.Ref, id string) string { return DeliverySetPrefix(r) + id }

// DeliverySetPrefix holds the webhook calls of an object.
func DeliverySetPrefix(r api.Ref) string { return DeliveriesPrefix + refPath(r) + "/" }

// AutoscaleKey is where the autoscaler's status of a workload lies.
func AutoscaleKey(r api.Ref) string { return AutoscalePrefix + refPath(r) }

// NameKey is the claim of <scope>-<name>. Its value is the Ref of the owner.
func NameKey(r api.Ref) string { return NamesPrefix + r.AppID() }

// NodeKey is where a node's facts lie.
func NodeKey(id string) string { return ActualNodesPrefix + id }

// IngressNodeKey is where the facts of a node's proxy lie.
func IngressNodeKey(node string) string { return ActualIngressPrefix + node }

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

// ConfigAppsPrefix holds the buckets of all apps of a scope.
func ConfigAppsPrefix(scope string) string { return ConfigPrefix + "apps/" + scope + "/" }

// ConfigAppPrefix holds the bucket of one app of a scope.
func ConfigAppPrefix(scope, name string) string { return ConfigAppsPrefix(scope) + name + "/" }

// ParseConfig reads the bucket off the key of a config value: a scope's, or with a name one app's.
func ParseConfig(key string) (scope, name string, ok bool) {
	if rest, found := strings.CutPrefix(key, ConfigPrefix+"apps/"); found {
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) != 3 {
			return "", "", false
		}
		return parts[0], parts[1], true
	}
	rest, found := strings.CutPrefix(key, ConfigPrefix+"scopes/")
	if !found {
		return "", "", false
	}
	scope, _, ok = strings.Cut(rest, "/")
	return scope, "", ok
}
