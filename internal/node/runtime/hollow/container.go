package hollow

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/restart"
)

// container is one simulated container. Everything in it is guarded by its engine's lock.
type container struct {
	id, name   string
	spec       runtime.ContainerSpec
	labels     map[string]string // never changed after create
	policy     restart.Policy
	imageID    string
	address    string
	detached   bool // disconnected from its network
	ports      []api.PortBinding
	created    time.Time
	started    time.Time
	finished   time.Time
	state      runtime.State
	exitCode   int
	oom        bool
	failure    string // why the last start failed
	pid        int
	restarts   int
	stopped    bool // by hand or by a client, as docker remembers it
	stopping   bool // a stop (not a kill) is under way
	behaviour  Behaviour
	backoff    restart.Backoff
	generation int // number of the incarnation; timers of older ones do nothing
	timers     []*time.Timer
	output     []runtime.LogLine
	changed    chan struct{} // closed at the next change of state or output
}

func (c *container) task() string    { return c.labels[api.LabelTask] }
func (c *container) cluster() string { return c.labels[api.LabelCluster] }
func (c *container) node() string    { return c.labels[api.LabelNode] }

// alive reports whether the container's process runs.
func (c *container) alive() bool {
	return c.state == runtime.StateRunning || c.state == runtime.StatePaused
}

// active reports whether it runs or is about to run.
func (c *container) active() bool { return c.alive() || c.state == runtime.StateRestarting }

func (c *container) stopTimers() {
	for _, timer := range c.timers {
		timer.Stop()
	}
	c.timers = nil
}

// newGeneration disables the timers set so far.
func (c *container) newGeneration() {
	c.stopTimers()
	c.generation++
}

func (c *container) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *container) print(stream, text string) {
	c.output = append(c.output, runtime.LogLine{Stream: stream, At: time.Now(), Text: text})
	c.broadcast()
}

func (c *container) view() runtime.Container {
	return runtime.Container{
		ID: c.id, Name: c.name, Labels: maps.Clone(c.labels), State: c.state, Restart: c.policy.String(),
		RestartCount: c.restarts, ExitCode: c.exitCode, OOMKilled: c.oom, Error: c.failure, ImageID: c.imageID,
		Address: c.liveAddress(), Ports: c.livePorts(), CreatedAt: c.created, StartedAt: c.started,
		FinishedAt: c.finished, PID: c.pid, Detached: c.detached && c.alive(), Check: c.behaviour.Check,
	}
}

// liveAddress and livePorts return nothing for a container that doesn't run or that is disconnected from its network.
func (c *container) liveAddress() string {
	if !c.alive() || c.detached {
		return ""
	}
	return c.address
}

func (c *container) livePorts() []api.PortBinding {
	if !c.alive() || c.detached {
		return nil
	}
	return slices.Clone(c.ports)
}

func (e *Engine) sortedLocked() []*container {
	return slices.SortedFunc(maps.Values(e.containers),
		func(a, b *container) int { return strings.Compare(a.name, b.name) })
}

// addLocked creates a container from a spec whose image and name are checked.
func (e *Engine) addLocked(
	spec runtime.ContainerSpec, labels map[string]string, policy restart.Policy, imageID string,
) *container {
	n := e.nextLocked()
	c := &container{
		id: digestOf("container %d %s", n, spec.Name), name: spec.Name, spec: spec, labels: labels, policy: policy,
		imageID: imageID, created: time.Now(), state: runtime.StateCreated, changed: make(chan struct{}),
		address: e.dealLocked(labels[api.LabelNode]),
	}
	e.containers[c.id], e.names[e.nameOn(labels[api.LabelNode], c.name)] = c, c
	e.emitLocked(c, runtime.Event{Kind: runtime.EventCreate})
	return c
}

func (e *Engine) removeLocked(c *container) {
	if e.containers[c.id] != c {
		return
	}
	if c.active() {
		e.killNowLocked(c)
	}
	c.newGeneration()
	delete(e.containers, c.id)
	delete(e.names, e.nameOn(c.labels[api.LabelNode], c.name))
	c.state = runtime.StateRemoving
	e.emitLocked(c, runtime.Event{Kind: runtime.EventDestroy})
	c.broadcast()
}
