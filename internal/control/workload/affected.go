package workload

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// Affected names the workloads of the kind that a change may concern.
func (c *Controller) Affected(s layout.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Object:
		return slices.Concat(c.only(record.Ref()), c.referring(s, record.Ref()), c.dependents(s, record.Ref()))
	case *api.WorkloadStatus, *api.JobStatus:
		if ref, _, ok := layout.ParseRef(strings.TrimPrefix(change.Key, layout.StatusPrefix)); ok {
			return append(c.referring(s, ref), c.dependents(s, ref)...) // its own is no reason to look again
		}
	case *api.Run:
		return c.only(record.Owner())
	case *api.Task:
		return c.only(record.Owner())
	case *api.TaskStatus:
		if task := s.Task(record.ID); task.Exists() {
			return c.only(task.Value.Owner())
		}
	case *api.ImageStatus:
		return c.only(record.Owner)
	case *api.Frozen:
		if ref, _, ok := layout.ParseRef(strings.TrimPrefix(change.Key, layout.FrozenPrefix)); ok {
			return c.only(ref)
		}
	case *api.NodeStatus:
		return c.all(s, "")
	case []byte:
		if strings.HasPrefix(change.Key, layout.AlivePrefix) {
			return c.all(s, "") // what could not be placed may fit now, or says something else
		}
		return c.bucket(s, change.Key)
	}
	return nil
}

func (c *Controller) only(ref api.Ref) []engine.Key {
	if ref.Kind != c.kind {
		return nil
	}
	return []engine.Key{control.Key(ref)}
}

// bucket names the workloads a config value reaches: those of the scope, or the app, and those that name it by env_from.
func (c *Controller) bucket(s layout.Snapshot, key string) []engine.Key {
	bucket, ok := environment.BucketOf(key)
	if !ok {
		return nil
	}
	return keys(environment.Consumers(s, c.kind, bucket))
}

// referring names the workloads whose spec refers to an object, whether it is there or not.
func (c *Controller) referring(s layout.Snapshot, ref api.Ref) []engine.Key {
	return slices.DeleteFunc(keys(s.Referring(ref)), func(key engine.Key) bool { return key.Kind != string(c.kind) })
}

// dependents names the workloads that wait for another to be ready before their next release begins.
func (c *Controller) dependents(s layout.Snapshot, ref api.Ref) []engine.Key {
	var out []engine.Key
	for _, dependent := range s.Dependents(ref) {
		out = append(out, c.only(dependent)...)
	}
	return out
}

func keys(objects []layout.Read[api.Object]) []engine.Key {
	var out []engine.Key
	for _, object := range objects {
		out = append(out, control.Key(object.Value.Ref()))
	}
	return out
}

func (c *Controller) all(s layout.Snapshot, scope string) []engine.Key {
	var out []engine.Key
	for object := range s.Objects(c.kind) {
		if scope == "" || object.Value.Scope == scope {
			out = append(out, control.Key(object.Value.Ref()))
		}
	}
	return out
}
