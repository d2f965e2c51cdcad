package local

import (
	"maps"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Control holds what one node may read and report. Create it with Service.Node.
type Control struct {
	*Service
	node         string
	certificates *certificates
	tried        tried

	mu          sync.Mutex
	subscribers []func(node.Change)
	lease       store.LeaseID
	// bound is the revision at which the heartbeat's key was bound to the lease.
	bound int64
	// former was the FormerLeader then.
	former time.Time
	// missed is set while the heartbeat's key says that two beats are missing.
	missed bool
	// unwritten is set while a heartbeat that was renewed can't be written.
	unwritten bool
}

var _ nodeapi.Control = (*Control)(nil)

// Synced implements nodeapi.Control.
func (c *Control) Synced() <-chan struct{} { return c.View.Synced() }

// Subscribe implements nodeapi.Control.
func (c *Control) Subscribe(fn func(node.Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers, fn)
}

func (c *Control) notify(change node.Change) {
	c.mu.Lock()
	subscribers := c.subscribers
	c.mu.Unlock()
	for _, notify := range subscribers {
		_ = recovery.Call(func() error { notify(change); return nil }, "node", c.node)
	}
}

// Tasks implements nodeapi.Control.
func (c *Control) Tasks() []string {
	tasks := c.snapshot().TasksOn(c.node)
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = task.Value.ID
	}
	return ids
}

// Task implements nodeapi.Control.
func (c *Control) Task(id string) (node.Assignment, bool) {
	snap := c.snapshot()
	task := snap.Task(id)
	if !task.Exists() || task.Value.Node != c.node {
		return node.Assignment{}, false
	}
	return assignment(snap, *task.Value), true
}

// Runs reports whether the node has a task of an object.
func (c *Control) Runs(object api.Ref) bool {
	return slices.ContainsFunc(c.snapshot().TasksOf(object),
		func(task records.Read[api.Task]) bool { return task.Value.Node == c.node })
}

func assignment(snap records.Snapshot, task api.Task) node.Assignment {
	assigned := node.Assignment{Task: task}
	if status := snap.TaskStatus(task.ID); status.Exists() {
		assigned.Status, assigned.Observed = *status.Value, true
	}
	_, assigned.Frozen = snap.Get(records.FrozenKey(task.Owner(), task.Slot))
	assigned.PluginAtWork = snap.Held(task.Scope, task.Name)
	if object := snap.Object(task.Owner()); object.Exists() {
		assigned.CallsBack = object.Value.CallsBack()
	}
	assigned.PredecessorOpen = open(snap, task.After)
	return assigned
}

// open reports whether a task exists that hasn't reported its end.
func open(snap records.Snapshot, id string) bool {
	if id == "" || !snap.Task(id).Exists() {
		return false
	}
	status := snap.TaskStatus(id)
	return !status.Exists() || !status.Value.State.Terminal()
}

// Images implements nodeapi.Control.
func (c *Control) Images() []api.Ref {
	snap := c.snapshot()
	owners := map[api.Ref]bool{}
	for _, request := range snap.ImageRequests() {
		if c.resolves(snap, *request.Value) {
			owners[request.Value.Owner] = true
		}
	}
	for record := range snap.Prefix(records.ActualImagesPrefix + c.node + "/") {
		if status, ok := record.Value.(*api.ImageStatus); ok {
			owners[status.Owner] = true
		}
	}
	return slices.Collect(maps.Keys(owners))
}

// Image implements nodeapi.Control.
func (c *Control) Image(owner api.Ref) node.ImageAssignment {
	c.asked.begin(owner, c.node)
	snap := c.snapshot()
	var assigned node.ImageAssignment
	if request := snap.ImageRequest(owner); request.Exists() && c.resolves(snap, *request.Value) {
		assigned.Request, assigned.Requested = *request.Value, true
	}
	if status := snap.ImageStatus(c.node, owner); status.Exists() {
		assigned.Status, assigned.Answered = *status.Value, true
	}
	c.asked.end(owner, c.node, snap.Revision(), assigned.Requested)
	return assigned
}
