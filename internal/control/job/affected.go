package job

import (
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Affected returns the objects of the kind that a change may concern.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	c.liveness.Notice(change)
	return affected.By(s, c.kind, change, c.unsettled)
}

// unsettled returns the objects that depend on the state of nodes: those without a status, those with an active run,
// and those without a release yet, whose image may be missing.
func (c *Controller) unsettled(s records.Snapshot) []engine.Key {
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
