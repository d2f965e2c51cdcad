package job

import (
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// Affected names the objects of the kind that a change may concern.
func (c *Controller) Affected(s layout.Snapshot, change view.Change) []engine.Key {
	return affected.By(s, c.kind, change, c.unsettled)
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
