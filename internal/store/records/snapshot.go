package records

import (
	"iter"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/view"
)

// The indexes of the view.
const (
	IndexTasksByOwner  = "tasks.owner"  // Ref.String() → tasks
	IndexLeftovers     = "tasks.left"   // Ref.String() → leftovers; "" → all of them
	IndexTasksByNode   = "tasks.node"   // node id → tasks
	IndexTasksAfter    = "tasks.after"  // task id → tasks that start after its end
	IndexImagesByOwner = "images.owner" // Ref.String() → image states of every node
)

// Indexes are the indexes that Snapshot requires of its view.
var Indexes = []view.Index{
	dependents,
	{Name: IndexTasksByOwner, Keys: func(_ string, value any) []string {
		if task, ok := value.(*api.Task); ok && !task.Leftover {
			return []string{task.Owner().String()}
		}
		return nil
	}},
	{Name: IndexLeftovers, Keys: func(_ string, value any) []string {
		if task, ok := value.(*api.Task); ok && task.Leftover {
			return []string{task.Owner().String(), ""}
		}
		return nil
	}},
	{Name: IndexTasksByNode, Keys: func(_ string, value any) []string {
		if task, ok := value.(*api.Task); ok && task.Node != "" {
			return []string{task.Node}
		}
		return nil
	}},
	{Name: IndexTasksAfter, Keys: func(_ string, value any) []string {
		if task, ok := value.(*api.Task); ok && task.After != "" {
			return []string{task.After}
		}
		return nil
	}},
	{Name: IndexImagesByOwner, Keys: func(_ string, value any) []string {
		if image, ok := value.(*api.ImageStatus); ok {
			return []string{image.Owner.String()}
		}
		return nil
	}},
	{Name: IndexReferring, Keys: referring}, {Name: IndexInCluster, Keys: inCluster},
}

// Reader is an immutable snapshot of the store, as a view returns it.
type Reader interface {
	Revision() int64
	Get(key string) (view.Record, bool)
	Prefix(prefix string) iter.Seq[view.Record]
	Index(name, value string) iter.Seq[view.Record]
	// Since returns the changes after a revision; false if that history is no longer known.
	Since(revision int64) (iter.Seq[view.Change], bool)
}

// Snapshot reads typed records. What it returns is shared and must not be modified.
type Snapshot struct{ Reader }

// Read is a record with the revision it was last modified at; the zero value means there is none.
type Read[T any] struct {
	Value    *T
	Created  int64
	Modified int64
}

// Exists reports whether there is a record.
func (r Read[T]) Exists() bool { return r.Value != nil }

// Object reads a manifest, with its metadata's revision filled in.
func (s Snapshot) Object(ref api.Ref) Read[api.Object] {
	return withRevision(get[api.Object](s, ObjectKey(ref)))
}

// Objects returns the manifests of a kind, ordered by scope and name.
func (s Snapshot) Objects(kind api.Kind) iter.Seq[Read[api.Object]] {
	return s.below(DesiredPrefix + string(kind) + "/")
}

// ObjectsIn returns the objects of a kind in one scope.
func (s Snapshot) ObjectsIn(kind api.Kind, scope string) iter.Seq[Read[api.Object]] {
	return s.below(DesiredPrefix + string(kind) + "/" + scope + "/")
}

func (s Snapshot) below(prefix string) iter.Seq[Read[api.Object]] {
	return func(yield func(Read[api.Object]) bool) {
		for record := range s.Prefix(prefix) {
			if !yield(withRevision(asRead[api.Object](record))) {
				return
			}
		}
	}
}

// Refs returns the objects of all kinds in a scope; with an empty scope those of all scopes.
func (s Snapshot) Refs(scope string) iter.Seq[api.Ref] {
	return func(yield func(api.Ref) bool) {
		for _, kind := range api.Kinds {
			prefix := DesiredPrefix + string(kind) + "/"
			if scope != "" {
				prefix += scope + "/"
			}
			for record := range s.Prefix(prefix) {
				if read := asRead[api.Object](record); read.Exists() && !yield(read.Value.Ref()) {
					return
				}
			}
		}
	}
}

// Homes returns the node with the data of each volume.
func (s Snapshot) Homes() map[string]string {
	out := map[string]string{}
	for record := range s.Prefix(HomesPrefix) {
		if node, ok := record.Value.(string); ok {
			out[record.Key[len(HomesPrefix):]] = node
		}
	}
	return out
}

// Synced reads what the last apply of a sync that wrote anything changed.
func (s Snapshot) Synced(name string) Read[api.Synced] { return get[api.Synced](s, SyncedKey(name)) }

// NodeSpec returns the declared spec of a node, or the zero value.
func (s Snapshot) NodeSpec(node string) api.NodeSpec {
	object := s.Object(api.Ref{Kind: api.KindNode, Scope: api.Unscoped, Name: node})
	if !object.Exists() || object.Value.Metadata.Deleting() {
		return api.NodeSpec{}
	}
	spec, _ := api.DecodeSpec[api.NodeSpec](*object.Value) // it was validated when it was applied
	return spec
}

// WorkloadStatus reads the status of a deployment or a statefulset.
func (s Snapshot) WorkloadStatus(ref api.Ref) Read[api.WorkloadStatus] {
	return get[api.WorkloadStatus](s, StatusKey(ref))
}

// Releases returns the releases of a workload, oldest first.
func (s Snapshot) Releases(ref api.Ref) []Read[api.Release] {
	releases := collect[api.Release](s.Prefix(ReleasePrefix(ref)))
	slices.SortFunc(releases, func(a, b Read[api.Release]) int { return a.Value.Number - b.Value.Number })
	return releases
}

// Release reads one release.
func (s Snapshot) Release(ref api.Ref, id string) Read[api.Release] {
	return get[api.Release](s, ReleaseKey(ref, id))
}

// ImageRequest reads a workload's image request.
func (s Snapshot) ImageRequest(ref api.Ref) Read[api.ImageRequest] {
	return get[api.ImageRequest](s, ImageKey(ref))
}

// ImageRequests returns all image requests.
func (s Snapshot) ImageRequests() []Read[api.ImageRequest] {
	return collect[api.ImageRequest](s.Prefix(ImagesPrefix))
}

// ImageStatuses returns the answers of all nodes to a workload's image request.
func (s Snapshot) ImageStatuses(ref api.Ref) []Read[api.ImageStatus] {
	return collect[api.ImageStatus](s.Index(IndexImagesByOwner, ref.String()))
}

// ImageStatus reads one node's answer.
func (s Snapshot) ImageStatus(node string, ref api.Ref) Read[api.ImageStatus] {
	return get[api.ImageStatus](s, ImageStatusKey(node, ref))
}

// LabStatus reads the status of a lab.
func (s Snapshot) LabStatus(ref api.Ref) Read[api.LabStatus] {
	return get[api.LabStatus](s, StatusKey(ref))
}

// LabOrders reads people's requests about a lab.
func (s Snapshot) LabOrders(ref api.Ref) Read[api.LabOrders] {
	return get[api.LabOrders](s, LabKey(ref))
}

// JobStatus reads the status of a job or a cron job.
func (s Snapshot) JobStatus(ref api.Ref) Read[api.JobStatus] {
	return get[api.JobStatus](s, StatusKey(ref))
}

// Run reads one run.
func (s Snapshot) Run(ref api.Ref, id string) Read[api.Run] { return get[api.Run](s, RunKey(ref, id)) }

// Runs returns the runs of an object that are kept, oldest first.
func (s Snapshot) Runs(ref api.Ref) []Read[api.Run] {
	runs := collect[api.Run](s.Prefix(RunSetPrefix(ref)))
	slices.SortStableFunc(runs, func(a, b Read[api.Run]) int { return a.Value.CreatedAt.Compare(b.Value.CreatedAt) })
	return runs
}

// Delivery reads one webhook call.
func (s Snapshot) Delivery(ref api.Ref, id string) Read[api.Delivery] {
	return get[api.Delivery](s, DeliveryKey(ref, id))
}

// Deliveries returns the webhook calls of an object that are kept.
func (s Snapshot) Deliveries(ref api.Ref) []Read[api.Delivery] {
	return collect[api.Delivery](s.Prefix(DeliverySetPrefix(ref)))
}

// AutoscaleStatus reads the autoscaler's status of a workload.
func (s Snapshot) AutoscaleStatus(ref api.Ref) Read[api.AutoscaleStatus] {
	return get[api.AutoscaleStatus](s, AutoscaleKey(ref))
}

// SinkProgress reads how far a sink is.
func (s Snapshot) SinkProgress(ref api.Ref) Read[api.SinkProgress] {
	return get[api.SinkProgress](s, SinkKey(ref))
}

// Frozen returns the slots of a workload that a person stopped on purpose.
func (s Snapshot) Frozen(ref api.Ref) []Read[api.Frozen] {
	return collect[api.Frozen](s.Prefix(FrozenSetPrefix(ref)))
}

// Moves returns the pods of a workload that a rebalance moves.
func (s Snapshot) Moves(ref api.Ref) Read[api.Moves] { return get[api.Moves](s, MovesKey(ref)) }

// Held reports whether a plugin's call works on the objects of a name.
func (s Snapshot) Held(scope, name string) bool {
	for range s.Prefix(HoldSetPrefix(scope, name)) {
		return true
	}
	return false
}

// Node reads a node's facts.
func (s Snapshot) Node(id string) Read[api.NodeStatus] { return get[api.NodeStatus](s, NodeKey(id)) }

// Nodes returns all nodes that ever reported.
func (s Snapshot) Nodes() []Read[api.NodeStatus] {
	return collect[api.NodeStatus](s.Prefix(ActualNodesPrefix))
}

// Slot reads the id of the task that fills a slot.
func (s Snapshot) Slot(ref api.Ref, slot string) Read[string] {
	record, ok := s.Get(SlotKey(ref, slot))
	id, isID := record.Value.(string)
	if !ok || !isID {
		return Read[string]{}
	}
	return Read[string]{Value: &id, Created: record.Created, Modified: record.Modified}
}

// NameOwner reads the object that claimed <scope>-<name>.
func (s Snapshot) NameOwner(ref api.Ref) Read[api.Ref] { return get[api.Ref](s, NameKey(ref)) }

func get[T any](s Snapshot, key string) Read[T] {
	record, ok := s.Get(key)
	if !ok {
		return Read[T]{}
	}
	return asRead[T](record)
}

func collect[T any](records iter.Seq[view.Record]) []Read[T] {
	var out []Read[T]
	for record := range records {
		if read := asRead[T](record); read.Exists() {
			out = append(out, read)
		}
	}
	return out
}

func asRead[T any](record view.Record) Read[T] {
	value, ok := record.Value.(*T)
	if !ok {
		return Read[T]{}
	}
	return Read[T]{Value: value, Created: record.Created, Modified: record.Modified}
}

func withRevision(read Read[api.Object]) Read[api.Object] {
	if read.Exists() {
		object := *read.Value
		object.Metadata.Revision = read.Modified
		read.Value = &object
	}
	return read
}
