package records

import (
	"strings"

	"tend.dev/tend/api"
)

// The prefixes of the store, each with its writer in normal operation. Besides it, the API deletes or completes the
// records of a node that a person declares down or removes, and of an object that is deleted.
const (
	DesiredPrefix       = "/desired/"        // manifests with metadata: the API
	StatusPrefix        = "/status/"         // statuses: the kind's controller
	TasksPrefix         = "/tasks/"          // desired halves of tasks: the control plane, forward only
	SlotsPrefix         = "/slots/"          // which task fills a slot: created with the task
	ReleasesPrefix      = "/releases/"       // snapshots: the rollout controller
	ImagesPrefix        = "/images/"         // image requests: the workload's controller
	FoundPrefix         = "/found/"          // reports of nodes about images, made when objects were stored: the API
	FrozenPrefix        = "/frozen/"         // slots stopped on purpose: the API
	MovesPrefix         = "/moves/"          // pods that a rebalance moves: the API
	HoldsPrefix         = "/holds/"          // objects that a plugin's call works on, bound to a lease: the API
	NamesPrefix         = "/names/"          // claims of <scope>-<name>: the API
	ActualTasksPrefix   = "/actual/tasks/"   // observed halves of tasks: the node's agent
	ActualNodesPrefix   = "/actual/nodes/"   // node facts: that agent
	ActualImagesPrefix  = "/actual/images/"  // image states: that agent; an early answer: the writer of the request
	ActualIngressPrefix = "/actual/ingress/" // proxies: that agent
	ActualNetworkPrefix = "/actual/network/" // how nodes are connected to each other: that agent
	CertsPrefix         = "/certs/"          // certificates and their keys, encrypted, and their locks: the proxies
	CertFilesPrefix     = "/certs/files/"    // those of the former without locks
	// nodes that didn't answer a request for an image: the controller of unanswered requests
	UnansweredPrefix = "/unanswered/"
	LossesPrefix     = "/losses/" // when a node was lost lately: the controller of flapping nodes
	AlivePrefix      = "/alive/"  // heartbeats, bound to a lease: the server that hears the node
	// which nodes are lost, and their last reports: the controller of flapping nodes
	NodeStatesPrefix = "/nodes/"
	ConfigPrefix     = "/config/" // buckets, encrypted: the API
	// values of buckets that no admin set last: the API, with the value
	ConfinedPrefix   = "/confined/"
	RunsPrefix       = "/runs/"       // runs: created by their trigger, then written by their owner's controller
	DeliveriesPrefix = "/deliveries/" // webhook calls: created with their data, then the delivery controller
	LabsPrefix       = "/labs/"       // requests of people about labs, more time or their end: the API
	AutoscalePrefix  = "/autoscale/"  // autoscaler statuses: the autoscaler
	SyncedPrefix     = "/synced/"     // what the last apply of a sync that wrote anything changed: the API, in that commit
	// the log of changes: the writer of the change, in the same commit; the leading server trims it
	EventsPrefix      = "/events/"
	AuditPrefix       = "/audit/"         // the log of calls: the server that answered; the leading server trims it
	SinksPrefix       = "/sinks/"         // how far sinks are in the log of changes: the controller of sinks
	ClusterJobsPrefix = "/clusters/jobs/" // the jobs of operators in Kubernetes clusters: the object's controller
	// questions to the operators of clusters with their answers, bound to a lease: the server that asks, then the one
	// that got the answer
	ClusterQueriesPrefix = "/clusters/queries/"
	ClusterAccessPrefix  = "/clusters/access/" // hashes of the tokens of clusters: the servers, by compare and swap
	ActualObjectsPrefix  = "/actual/objects/"  // the reports of a cluster's operator on an object: the server that asked it
	ActualClusterPrefix  = "/actual/clusters/" // the last contact with a cluster's operator: the server that asked it
	LeasesPrefix         = "/leases/"          // elections: the server
	HomesPrefix          = "/homes/"           // the node with a volume's data, until that is removed: the one that places its task
	PlacingKey           = "/placing"          // when a task got its node last: all who place, by compare and swap
	// compared and written by every verb, so that only one succeeds from the same state: the API
	GuardKey      = "/guards/verbs"
	MembersPrefix = "/members/" // which machine a node's name is of: the server where it joins
	// tokens with which machines join: the server that made one, and the one where it is used
	JoinTokensPrefix   = "/tokens/join/"
	RotationsPrefix    = "/keys/rotations/"   // keys being replaced: the API begins, the leading server continues
	HoldingsPrefix     = "/keys/servers/"     // which keys each server has and uses: that server
	AccessTokensPrefix = "/tokens/access/"    // tokens of people and programs: the API
	ServersPrefix      = "/servers/"          // running servers, bound to a lease: each server its own
	SubnetsKey         = "/network/subnets"   // which part of the network is each node's: the network's controller
	BackupKey          = "/backups/scheduled" // the result of scheduled backups: the leading server
	// the authority of the nodes' certificates, encrypted: the first server that listens for nodes, then the one that
	// rotates it
	AuthorityKey = "/authority/nodes"
	// the store's uid and key material's fingerprint: the first boot, then the server that rotates the key
	ClusterKey = "/cluster"
	// why the cluster is paused: a server that finds an older store writes it, the one that resumes deletes it
	PauseKey     = "/pause/now"
	LastPauseKey = "/pause/last" // the last pause that is over: the server that resumed
	SchemaKey    = "/schema"     // the layout's version: the server that boots
)

// ObjectKey returns the key of an object's manifest.
func ObjectKey(r api.Ref) string { return DesiredPrefix + refPath(r) }

// StatusKey returns the key of an object's status.
func StatusKey(r api.Ref) string { return StatusPrefix + refPath(r) }

// TaskKey returns the key of the desired half of a task.
func TaskKey(id string) string { return TasksPrefix + id }

// TaskStatusKey returns the key of the observed half of a task.
func TaskStatusKey(id string) string { return ActualTasksPrefix + id }

// SlotKey returns the key that names the task of a slot.
func SlotKey(r api.Ref, slot string) string { return SlotsPrefix + refPath(r) + "/" + slot }

// ReleaseKey returns the key of a release.
func ReleaseKey(r api.Ref, id string) string { return ReleasesPrefix + refPath(r) + "/" + id }

// ReleasePrefix returns the prefix of the releases of an object.
func ReleasePrefix(r api.Ref) string { return ReleasesPrefix + refPath(r) + "/" }

// ImageKey returns the key of a workload's image request.
func ImageKey(r api.Ref) string { return ImagesPrefix + refPath(r) }

// FoundKey returns the key of a node's report of an object's image, made when the object was stored.
func FoundKey(r api.Ref) string { return FoundPrefix + refPath(r) }

// ImageStatusKey returns the key of a node's answer to an image request.
func ImageStatusKey(node string, r api.Ref) string {
	return ActualImagesPrefix + node + "/" + refPath(r)
}

// FrozenKey returns the key that marks a frozen slot.
func FrozenKey(r api.Ref, slot string) string { return FrozenSetPrefix(r) + slot }

// FrozenSetPrefix returns the prefix of the frozen slots of an object.
func FrozenSetPrefix(r api.Ref) string { return FrozenPrefix + refPath(r) + "/" }

// MovesKey returns the key of the pods of a workload that a rebalance moves.
func MovesKey(r api.Ref) string { return MovesPrefix + refPath(r) }

// HoldKey returns the key of a call's hold of an object.
func HoldKey(scope, name, call string) string { return HoldSetPrefix(scope, name) + call }

// HoldSetPrefix returns the prefix of the holds on all objects of a name.
func HoldSetPrefix(scope, name string) string { return HoldsPrefix + scope + "/" + name + "/" }

// ParseHold parses scope and name from the key of a hold.
func ParseHold(key string) (scope, name string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(key, HoldsPrefix), "/")
	if len(parts) != 3 || !strings.HasPrefix(key, HoldsPrefix) {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// RunKey returns the key of a run.
func RunKey(r api.Ref, id string) string { return RunSetPrefix(r) + id }

// RunSetPrefix returns the prefix of the runs of an object.
func RunSetPrefix(r api.Ref) string { return RunsPrefix + refPath(r) + "/" }

// DeliveryKey returns the key of a webhook call.
func DeliveryKey(r api.Ref, id string) string { return DeliverySetPrefix(r) + id }

// DeliverySetPrefix returns the prefix of the webhook calls of an object.
func DeliverySetPrefix(r api.Ref) string { return DeliveriesPrefix + refPath(r) + "/" }

// AutoscaleKey returns the key of the autoscaler's status of a workload.
func AutoscaleKey(r api.Ref) string { return AutoscalePrefix + refPath(r) }

// SyncedKey returns the key of what the last apply of a sync that wrote anything changed.
func SyncedKey(name string) string { return SyncedPrefix + name }

// SinkKey returns the key of how far a sink is.
func SinkKey(r api.Ref) string { return SinksPrefix + r.Scope + "/" + r.Name }

// ParseSink returns the sink of a key.
func ParseSink(key string) (ref api.Ref, ok bool) {
	rest, found := strings.CutPrefix(key, SinksPrefix)
	scope, name, parted := strings.Cut(rest, "/")
	return api.Ref{Kind: api.KindSink, Scope: scope, Name: name}, found && parted
}

// ClusterJobKey returns the key of the job of an object of a cluster.
func ClusterJobKey(cluster string, r api.Ref) string {
	return ClusterJobSetPrefix(cluster) + refPath(r)
}

// ClusterJobSetPrefix returns the prefix of the jobs of a cluster.
func ClusterJobSetPrefix(cluster string) string { return ClusterJobsPrefix + cluster + "/" }

// ClusterQueryKey returns the key of a query to the operator of a cluster.
func ClusterQueryKey(cluster, id string) string { return ClusterQuerySetPrefix(cluster) + id }

// ClusterQuerySetPrefix returns the prefix of the queries to the operator of a cluster.
func ClusterQuerySetPrefix(cluster string) string { return ClusterQueriesPrefix + cluster + "/" }

// ClusterAccessKey returns the key of the tokens of a cluster.
func ClusterAccessKey(cluster string) string { return ClusterAccessPrefix + cluster }

// ClusterContactKey returns the key of the last contact with a cluster's operator.
func ClusterContactKey(cluster string) string { return ActualClusterPrefix + cluster }

// ClusterReportKey returns the key of the report that a cluster's operator sent about an object.
func ClusterReportKey(r api.Ref) string { return ActualObjectsPrefix + refPath(r) }

// LabKey returns the key of people's requests about a lab.
func LabKey(r api.Ref) string { return LabsPrefix + refPath(r) }

// UnansweredKey returns the key of the list of nodes that didn't answer a request for an object's image.
func UnansweredKey(r api.Ref) string { return UnansweredPrefix + refPath(r) }

// NameKey returns the key of the claim of <scope>-<name>. Its value is the Ref of the owner.
func NameKey(r api.Ref) string { return NamesPrefix + r.AppID() }

// NodeKey returns the key of a node's facts.
func NodeKey(id string) string { return ActualNodesPrefix + id }

// MemberKey returns the key of the machine that has a node's name.
func MemberKey(node string) string { return MembersPrefix + node }

// ServerKey returns the key of a running server's own record.
func ServerKey(name string) string { return ServersPrefix + name }

// RotationKey returns the key of the replacement of a key.
func RotationKey(key string) string { return RotationsPrefix + key }

// HoldingsKey returns the key under which a server lists the keys it holds.
func HoldingsKey(server string) string { return HoldingsPrefix + server }

// JoinTokenKey returns the key of a token with which machines join.
func JoinTokenKey(id string) string { return JoinTokensPrefix + id }

// AccessTokenKey returns the key of a person's or a program's token.
func AccessTokenKey(name string) string { return AccessTokensPrefix + name }

// HomeKey returns the key of the node that has the data of a volume, or of a folder of the host. Its value is the node.
func HomeKey(volume string) string { return HomesPrefix + volume }

// IngressNodeKey returns the key of the facts of a node's proxy.
func IngressNodeKey(node string) string { return ActualIngressPrefix + node }

// NetworkNodeKey returns the key of how a node is connected to others.
func NetworkNodeKey(node string) string { return ActualNetworkPrefix + node }

// LossesKey returns the key of a node's losses within the last hour.
func LossesKey(node string) string { return LossesPrefix + node }

// NodeStateKey returns the key of a node's state in the control plane.
func NodeStateKey(node string) string { return NodeStatesPrefix + node }

// AliveKey returns the key of a node's heartbeat.
func AliveKey(id string) string { return AlivePrefix + id }

func refPath(r api.Ref) string { return string(r.Kind) + "/" + r.Scope + "/" + r.Name }

// ParseRef parses kind/scope/name from the beginning of a path, and returns the rest.
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

// ConfigScopePrefix returns the prefix of a scope's bucket: one encrypted value per key.
func ConfigScopePrefix(scope string) string { return ConfigPrefix + "scopes/" + scope + "/" }

// ConfigAppsPrefix returns the prefix of the buckets of all apps of a scope.
func ConfigAppsPrefix(scope string) string { return ConfigPrefix + "apps/" + scope + "/" }

// ConfigAppPrefix returns the prefix of the bucket of one app of a scope.
func ConfigAppPrefix(scope, name string) string { return ConfigAppsPrefix(scope) + name + "/" }

// ConfinedKey returns the key that marks a config value as one that no admin set last. key is the value's.
func ConfinedKey(key string) string { return ConfinedPrefix + strings.TrimPrefix(key, "/") }

// ParseConfig parses the bucket from the key of a config value: a scope's, or with a name one app's.
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
