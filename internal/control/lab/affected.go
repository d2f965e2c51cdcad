package lab

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Affected returns the labs that a change may concern.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	c.Liveness.Notice(change)
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch value.(type) {
	case *api.IngressNodeStatus, *api.NetworkNodeStatus:
		return reachedBy(s)
	}
	return affected.By(s, api.KindLab, change, c.onNodes)
}

// reachedBy returns the labs whose access URL depends on what nodes say of their proxy and their network: those that run.
func reachedBy(s records.Snapshot) []engine.Key {
	var out []engine.Key
	for object := range s.Objects(api.KindLab) {
		ref := object.Value.Ref()
		if status := s.LabStatus(ref).Value; status != nil && status.Phase == api.LabRunning {
			out = append(out, control.Key(ref))
		}
	}
	return out
}

// onNodes returns the labs that depend on the state of nodes: those that run, and those that would if they could. One
// whose instant has not come, or that is over and gone, costs nothing when a node changes.
func (c *Controller) onNodes(s records.Snapshot) []engine.Key {
	var out []engine.Key
	now := c.Now()
	for object := range s.Objects(api.KindLab) {
		ref := object.Value.Ref()
		status := s.LabStatus(ref).Value
		if status == nil || !resting(*status, now) || len(s.TasksOf(ref)) > 0 {
			out = append(out, control.Key(ref))
		}
	}
	return out
}
