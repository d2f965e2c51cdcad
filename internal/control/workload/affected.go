package workload

import (
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// Affected names the workloads of the kind that a change may concern: all of them where it is of a node, for what could not
// be placed may fit now, or says something else.
func (c *Controller) Affected(s layout.Snapshot, change view.Change) []engine.Key {
	return affected.By(s, c.kind, change, func(s layout.Snapshot) []engine.Key { return control.Keys(s, c.kind) })
}
