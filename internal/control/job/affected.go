package job

import (
	"strings"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Affected returns the objects of the kind that a change may concern.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	if node, ok := heartbeat(change); ok {
		c.absent.clear(node)
	}
	return affected.By(s, c.kind, change, c.unsettled)
}

// heartbeat returns the node if the change is one of its heartbeat.
func heartbeat(change view.Change) (node string, ok bool) {
	node, ok = strings.CutPrefix(change.Key, records.AlivePrefix)
	return node, ok && !change.Deleted
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
