package affected

import (
	"cmp"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// By returns the keys of kind to reconcile after change. A change to an object's own status returns none. byNode
// returns the keys to reconcile when a node changes.
func By(s records.Snapshot, kind api.Kind, change view.Change, byNode func(records.Snapshot) []engine.Key) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Object:
		if record.Kind == api.KindNode {
			return byNode(s)
		}
		return append(append(around(s, kind, record.Ref()), only(kind, record.Ref())...), certificates(s, kind, change)...)
	case *api.WorkloadStatus, *api.JobStatus:
		if ref, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.StatusPrefix)); ok {
			return around(s, kind, ref)
		}
	case *api.Run:
		return only(kind, record.Owner())
	case *api.Task:
		return only(kind, record.Owner())
	case *api.TaskStatus:
		if task := s.Task(record.ID); task.Exists() {
			return only(kind, task.Value.Owner())
		}
	case *api.LabOrders:
		if ref, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.LabsPrefix)); ok {
			return only(kind, ref)
		}
	case *api.ImageStatus:
		return only(kind, record.Owner)
	case *api.Frozen:
		if ref, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.FrozenPrefix)); ok {
			return only(kind, ref)
		}
	case *api.Moves:
		if ref, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.MovesPrefix)); ok {
			return only(kind, ref)
		}
	case *api.NodeStatus, *api.NodeLosses:
		return byNode(s)
	case []byte:
		if strings.HasPrefix(change.Key, records.AlivePrefix) {
			return byNode(s)
		}
		return bucket(s, kind, change.Key)
	}
	return nil
}

// certificates returns the keys of the objects whose environment lacks or has what an ingress names as its certificate, if
// that changed.
func certificates(s records.Snapshot, kind api.Kind, change view.Change) (out []engine.Key) {
	before, _ := change.Old.(*api.Object)
	after, _ := change.New.(*api.Object)
	if environment.Withheld(before) == environment.Withheld(after) {
		return nil
	}
	scope := cmp.Or(before, after).Scope // either bucket of it
	for _, object := range environment.Consumers(s, kind, env.Bucket{Scope: scope}) {
		out = append(out, control.Key(object.Value.Ref()))
	}
	return out
}

// around returns the keys of the objects that refer to ref or wait for it, whether it exists or not.
func around(s records.Snapshot, kind api.Kind, ref api.Ref) []engine.Key {
	out := only(kind, s.Dependents(ref)...)
	for _, object := range s.Referring(ref) {
		out = append(out, only(kind, object.Value.Ref())...)
	}
	return out
}

func only(kind api.Kind, refs ...api.Ref) []engine.Key {
	var out []engine.Key
	for _, ref := range refs {
		if ref.Kind == kind {
			out = append(out, control.Key(ref))
		}
	}
	return out
}

// bucket returns the keys of the objects a config value reaches: those of the scope or the app, and those that name the
// bucket by env_from.
func bucket(s records.Snapshot, kind api.Kind, key string) []engine.Key {
	bucket, ok := environment.BucketOf(key)
	if !ok {
		return nil
	}
	var out []engine.Key
	for _, object := range environment.Consumers(s, kind, bucket) {
		out = append(out, control.Key(object.Value.Ref()))
	}
	return out
}
