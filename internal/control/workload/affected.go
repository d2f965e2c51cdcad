package workload

import (
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Affected returns the workloads of the kind that a change may concern. A change of a node concerns all of them: a task
// that could not be placed may fit now, or be refused for another reason; and what runs on a silent node will be lost.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	c.nodes.Liveness.Notice(change)
	return affected.By(s, c.kind, change, func(s records.Snapshot) []engine.Key { return control.Keys(s, c.kind) })
}
