package affected

import (
	"cmp"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Owner returns the input of a kind that owns tasks: what concerns its objects, their tasks, images and environments. A
// change of an object's own status concerns none. byNode returns the objects that a change of a node concerns.
func Owner(kind api.Kind, byNode func(records.Snapshot) []api.Ref) control.Input {
	return func(s records.Snapshot, change view.Change) []api.Ref {
		switch record := control.Changed(change).(type) {
		case *api.Object:
			if record.Kind == api.KindNode {
				return byNode(s)
			}
			out := append(append(around(s, record.Ref()), record.Ref()), certificates(s, kind, change)...)
			if change.Deleted {
				out = append(out, writersBeside(s, kind, record)...)
			}
			return out
		case *api.WorkloadStatus, *api.JobStatus:
			return around(s, refIn(change.Key, records.StatusPrefix))
		case *api.Run:
			return []api.Ref{record.Owner()}
		case *api.Task:
			return []api.Ref{record.Owner()}
		case *api.TaskStatus:
			if task := s.Task(record.ID); task.Exists() {
				return []api.Ref{task.Value.Owner()}
			}
		case *api.LabOrders:
			return []api.Ref{refIn(change.Key, records.LabsPrefix)}
		case *api.ImageStatus:
			return []api.Ref{record.Owner}
		case *api.Frozen:
			return []api.Ref{refIn(change.Key, records.FrozenPrefix)}
		case *api.Moves:
			return []api.Ref{refIn(change.Key, records.MovesPrefix)}
		case *api.NodeStatus, *api.NodeLosses, *api.ServerPresence: // a server that runs hears nodes
			return byNode(s)
		case []byte:
			if strings.HasPrefix(change.Key, records.AlivePrefix) {
				return byNode(s)
			}
			return bucket(s, kind, change.Key)
		}
		return nil
	}
}

// refIn returns the object that a key below a prefix is about.
func refIn(key, prefix string) api.Ref {
	ref, _, _ := records.ParseRef(strings.TrimPrefix(key, prefix))
	return ref
}

// certificates returns the objects whose environment lacks or has what an ingress names as its certificate, if that
// changed.
func certificates(s records.Snapshot, kind api.Kind, change view.Change) []api.Ref {
	before, _ := change.Old.(*api.Object)
	after, _ := change.New.(*api.Object)
	if source.CertificateOf(before) == source.CertificateOf(after) {
		return nil
	}
	scope := cmp.Or(before, after).Scope // either bucket of it
	return consumers(s, kind, env.Bucket{Scope: scope})
}

// around returns the objects that refer to ref or wait for it, whether it exists or not.
func around(s records.Snapshot, ref api.Ref) []api.Ref {
	out := s.Dependents(ref)
	for _, object := range s.Referring(ref) {
		out = append(out, object.Value.Ref())
	}
	return out
}

// writersBeside returns the objects that write to a volume of an object that is gone: their next release waited for it.
func writersBeside(s records.Snapshot, kind api.Kind, gone *api.Object) (out []api.Ref) {
	use := volumes.UseBy(gone.Ref(), gone.Spec)
	if len(use.Alone()) == 0 {
		return nil
	}
	for object := range s.Objects(kind) {
		if use.Both(volumes.UseBy(object.Value.Ref(), object.Value.Spec)) != "" {
			out = append(out, object.Value.Ref())
		}
	}
	return out
}

// bucket returns the objects a config value reaches: those of the scope or the app, and those that name the bucket by
// env_from.
func bucket(s records.Snapshot, kind api.Kind, key string) []api.Ref {
	bucket, ok := environment.BucketOf(key)
	if !ok {
		return nil
	}
	return consumers(s, kind, bucket)
}

func consumers(s records.Snapshot, kind api.Kind, bucket env.Bucket) (out []api.Ref) {
	for _, object := range environment.Consumers(s, kind, bucket) {
		out = append(out, object.Value.Ref())
	}
	return out
}
