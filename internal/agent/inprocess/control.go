package inprocess

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/agent"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/view"
)

// Decrypter opens a release's environment.
type Decrypter interface {
	Decrypt(sealed []byte) ([]byte, error)
}

// Options make a Control.
type Options struct {
	Node  string
	Store store.Store
	// View must be fed with layout.Decode and layout.Indexes, and must not run yet.
	View *view.View
	Keys Decrypter
	// Controller is where the containers of an object call the server back, empty where they don't. Default: none does.
	Controller func(object api.Object) string
}

// Control implements agent.Control.
type Control struct {
	node  string
	store store.Store
	view  *view.View
	keys  Decrypter
	// controller is Options.Controller.
	controller func(object api.Object) string

	mu          sync.Mutex
	subscribers []func(agent.Change)
	lease       store.LeaseID
}

var _ agent.Control = (*Control)(nil)

// New makes the control plane's side of one node. It listens to the view, so it is made before the view runs.
func New(o Options) *Control {
	c := &Control{node: o.Node, store: o.Store, view: o.View, keys: o.Keys, controller: o.Controller}
	o.View.OnChange(c.changed)
	return c
}

// Synced implements agent.Control.
func (c *Control) Synced() <-chan struct{} { return c.view.Synced() }

// Subscribe implements agent.Control.
func (c *Control) Subscribe(fn func(agent.Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers, fn)
}

// changed says what a commit asks the agent to look at again. The node's own reports ask for nothing, but for two: the end
// of a task may be what another one waits for, and what runs once starts when its container is recorded.
func (c *Control) changed(change view.Change) {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Task:
		c.tell(agent.Change{Task: record.ID})
	case *api.TaskStatus:
		if record.State.Terminal() || change.Deleted || record.Container != "" && record.StartedAt.IsZero() {
			c.tell(agent.Change{Task: record.ID})
		}
	case *api.Frozen:
		c.thawed(strings.TrimPrefix(change.Key, layout.FrozenPrefix), record.Slot)
	case *api.Hold:
		c.released(change.Key)
	case *api.ImageRequest:
		c.tell(agent.Change{Image: record.Owner})
	case *api.Object:
		c.registryChanged(change)
	}
}

func (c *Control) thawed(path, slot string) {
	owner, _, ok := layout.ParseRef(path)
	if !ok {
		return
	}
	for _, task := range c.snapshot().TasksOf(owner) {
		if task.Value.Slot == slot {
			c.tell(agent.Change{Task: task.Value.ID})
		}
	}
}

// released wakes the tasks of the objects that a plugin's call begins or ends to work on.
func (c *Control) released(key string) {
	scope, name, ok := layout.ParseHold(key)
	if !ok {
		return
	}
	snap := c.snapshot()
	for _, kind := range api.Kinds {
		if !kind.HasSlots() {
			continue
		}
		for _, task := range snap.TasksOf(api.Ref{Kind: kind, Scope: scope, Name: name}) {
			c.tell(agent.Change{Task: task.Value.ID})
		}
	}
}

func (c *Control) tell(change agent.Change) {
	c.mu.Lock()
	subscribers := c.subscribers
	c.mu.Unlock()
	for _, tell := range subscribers {
		tell(change)
	}
}

func (c *Control) snapshot() layout.Snapshot { return layout.Snapshot{Reader: c.view.Snapshot()} }

// Tasks implements agent.Control.
func (c *Control) Tasks() []string {
	tasks := c.snapshot().TasksOn(c.node)
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = task.Value.ID
	}
	return ids
}

// Task implements agent.Control.
func (c *Control) Task(id string) (agent.Assignment, bool) {
	snap := c.snapshot()
	task := snap.Task(id)
	if !task.Exists() || task.Value.Node != c.node {
		return agent.Assignment{}, false
	}
	return assignment(snap, *task.Value), true
}

func assignment(snap layout.Snapshot, task api.Task) agent.Assignment {
	assigned := agent.Assignment{Task: task}
	if status := snap.TaskStatus(task.ID); status.Exists() {
		assigned.Status, assigned.Observed = *status.Value, true
	}
	_, assigned.Frozen = snap.Get(layout.FrozenKey(task.Owner(), task.Slot))
	assigned.PluginAtWork = snap.Held(task.Scope, task.Name)
	assigned.PredecessorOpen = open(snap, task.After)
	return assigned
}

// open says whether a task exists that hasn't reported its end.
func open(snap layout.Snapshot, id string) bool {
	if id == "" || !snap.Task(id).Exists() {
		return false
	}
	status := snap.TaskStatus(id)
	return !status.Exists() || !status.Value.State.Terminal()
}

// Release implements agent.Control.
func (c *Control) Release(_ context.Context, task api.Task) (agent.Release, error) {
	read := c.snapshot().Release(task.Owner(), task.Release)
	if !read.Exists() {
		return agent.Release{}, fmt.Errorf("release %s of %s: %w", task.Release, task.Owner(), agent.ErrNoRelease)
	}
	stored := read.Value
	release := agent.Release{
		ID: stored.ID, Fingerprint: stored.Fingerprint(), Image: stored.Image, ImageID: stored.ImageID, ImageDigest: stored.ImageDigest,
		Built: stored.Build != nil, AssetDigests: stored.AssetDigests,
	}
	spec, err := api.DecodeWorkload(task.Kind, stored.Spec)
	if err != nil {
		return agent.Release{}, fmt.Errorf("release %s of %s: %w", task.Release, task.Owner(), err)
	}
	release.Spec, release.Claims = spec.DeploymentSpec, spec.Claims
	if len(stored.Env) == 0 {
		c.addIdentity(task.Owner(), &release)
		return release, nil
	}
	plain, err := c.keys.Decrypt(stored.Env)
	if err != nil {
		return agent.Release{}, fmt.Errorf("release %s of %s: env: %w", task.Release, task.Owner(), err)
	}
	var merged map[string]string
	if err := json.Unmarshal(plain, &merged); err != nil {
		return agent.Release{}, fmt.Errorf("release %s of %s: env is not a map of strings", task.Release, task.Owner())
	}
	release.Env, release.SecretFiles = env.Split(merged)
	c.addIdentity(task.Owner(), &release)
	return release, nil
}

// addIdentity adds what the object says that a release doesn't.
func (c *Control) addIdentity(owner api.Ref, release *agent.Release) {
	object := c.snapshot().Object(owner)
	if !object.Exists() {
		return
	}
	release.Dotted = object.Value.Metadata.Labels[api.LabelDotted]
	c.tellController(*object.Value, release)
}

// tellController sets the URL of the callback listener under both names. It replaces a value of the manifest's own: only
// the URL with this object's token is answered.
func (c *Control) tellController(object api.Object, release *agent.Release) {
	if c.controller == nil {
		return
	}
	url := c.controller(object)
	if url == "" {
		return
	}
	if release.Env == nil {
		release.Env = map[string]string{}
	}
	for _, name := range []string{api.EnvController, oldController} {
		release.Env[name] = url
	}
}

// oldController is what plugins know api.EnvController as.
const oldController = "VOODU_CONTROLLER_URL"

// Images implements agent.Control.
func (c *Control) Images() []api.Ref {
	snap := c.snapshot()
	seen := map[api.Ref]bool{}
	var owners []api.Ref
	add := func(owner api.Ref) {
		if !seen[owner] {
			seen[owner] = true
			owners = append(owners, owner)
		}
	}
	for _, request := range snap.ImageRequests() {
		add(request.Value.Owner)
	}
	for record := range snap.Prefix(layout.ActualImagesPrefix + c.node + "/") {
		if status, ok := record.Value.(*api.ImageStatus); ok {
			add(status.Owner)
		}
	}
	return owners
}

// Image implements agent.Control.
func (c *Control) Image(owner api.Ref) agent.ImageAssignment {
	snap := c.snapshot()
	var assigned agent.ImageAssignment
	if request := snap.ImageRequest(owner); request.Exists() {
		assigned.Request, assigned.Requested = *request.Value, true
	}
	if status := snap.ImageStatus(c.node, owner); status.Exists() {
		assigned.Status, assigned.Answered = *status.Value, true
	}
	return assigned
}
