package job

import (
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// Affected names the objects of the kind that a change may concern. The controller's own status is no reason to look
// again.
func (c *Controller) Affected(s layout.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Object:
		return append(c.around(s, record.Ref()), c.only(record.Ref())...)
	case *api.WorkloadStatus, *api.JobStatus:
		if ref, _, ok := layout.ParseRef(strings.TrimPrefix(change.Key, layout.StatusPrefix)); ok {
			return c.around(s, ref)
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
	case *api.NodeStatus:
		return c.unsettled(s)
	case []byte:
		if strings.HasPrefix(change.Key, layout.AlivePrefix) {
			return c.unsettled(s)
		}
		return c.bucket(s, change.Key)
	}
	return nil
}

// around names the objects that refer to another, or depend on it.
func (c *Controller) around(s layout.Snapshot, ref api.Ref) []engine.Key {
	out := c.only(s.Dependents(ref)...)
	for _, object := range s.Referring(ref) {
		out = append(out, c.only(object.Value.Ref())...)
	}
	return out
}

func (c *Controller) only(refs ...api.Ref) []engine.Key {
	var out []engine.Key
	for _, ref := range refs {
		if ref.Kind == c.kind {
			out = append(out, control.Key(ref))
		}
	}
	return out
}

// bucket names the objects a config value reaches.
func (c *Controller) bucket(s layout.Snapshot, key string) []engine.Key {
	bucket, ok := environment.BucketOf(key)
	if !ok {
		return nil
	}
	var out []engine.Key
	for _, object := range environment.Consumers(s, c.kind, bucket) {
		out = append(out, control.Key(object.Value.Ref()))
	}
	return out
}

// unsettled names the objects to which it matters how nodes are: those with a run on, and those without their image.
func (c *Controller) unsettled(s layout.Snapshot) []engine.Key {
	var out []engine.Key
	for object := range s.Objects(c.kind) {
		ref := object.Value.Ref()
		status := s.JobStatus(ref).Value
		if status == nil || status.Active > 0 || status.Release == "" {
			out = append(out, control.Key(ref))
		}
	}
	return out
}
