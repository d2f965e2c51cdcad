package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
)

// containers is a cache of the cluster's containers on this node. Events mark entries as stale and say who ended them;
// full lists find what no event reported. An entry is valid only until something happens to it.
type containers struct {
	runtime runtime.Runtime
	now     func() time.Time
	// moved is called when a container has got an address, has another one or none any more. It must not block.
	moved func()

	mu      sync.Mutex
	entries map[string]*entry   // by container id
	byTask  map[string][]*entry // the same, by the task of their label
	clock   int64               // grows with every touch
}

// entry is one container.
type entry struct {
	container runtime.Container
	// stale is set if something happened since the last inspection; died if that included its end.
	stale, died bool
	// failedStarts is the number of its starts that failed in a row, failedSince the time of the first.
	failedStarts int
	failedSince  time.Time
	// touched is the clock at the last event or call by this agent about it; inspectedAt is when it was last inspected.
	touched     int64
	inspectedAt time.Time
	// killed is set if it was stopped, by Tend or by others through the engine, and has not started since.
	killed bool
	oom    bool
	cause  healing.Cause
	exit   *healing.Exit
	// watched is set if events came without a gap since its state was last recorded in a status.
	watched bool
}

// observation is a container with what is known of its end.
type observation struct {
	container   runtime.Container
	cause       healing.Cause
	exit        *healing.Exit
	watched     bool
	inspectedAt time.Time
	// failedStarts is the number of its starts that failed in a row, failedSince the time of the first.
	failedStarts int
	failedSince  time.Time
}

func newContainers(rt runtime.Runtime, now func() time.Time) *containers {
	return &containers{runtime: rt, now: now, moved: func() {}, entries: map[string]*entry{},
		byTask: map[string][]*entry{}}
}

// addLocked adds a container that is not known yet.
func (c *containers) addLocked(e *entry) {
	c.entries[e.container.ID] = e
	task := e.container.Task()
	c.byTask[task] = append(c.byTask[task], e)
	c.moves("", e.address())
}

// removeLocked forgets a container.
func (c *containers) removeLocked(id string) {
	e := c.entries[id]
	if e == nil {
		return
	}
	delete(c.entries, id)
	c.moves(e.address(), "")
	task := e.container.Task()
	left := slices.DeleteFunc(c.byTask[task], func(other *entry) bool { return other == e })
	if c.byTask[task] = left; len(left) == 0 {
		delete(c.byTask, task)
	}
}

// updateLocked replaces the known state of a container by the engine's. Its task never changes, because labels don't.
func (c *containers) updateLocked(e *entry, found runtime.Container) {
	c.moves(e.address(), addressOf(found))
	e.container, e.died = found, false
}

// observe returns a task's container as it is now, or nil if there is none.
func (c *containers) observe(ctx context.Context, task string) (*observation, error) {
	for {
		seen, id := c.known(task)
		if id == "" {
			return seen, nil
		}
		if err := c.inspect(ctx, id); err != nil {
			return nil, err
		}
	}
}

// known returns the last known state of a task's container, and its id if it must be inspected first.
func (c *containers) known(task string) (*observation, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.ofLocked(task)
	if e == nil {
		return nil, ""
	}
	if e.stale {
		return e.observation(), e.container.ID
	}
	return e.observation(), ""
}

func (e *entry) observation() *observation {
	return &observation{container: e.container, cause: e.endedBy(), exit: e.exit, watched: e.watched,
		inspectedAt: e.inspectedAt, failedStarts: e.failedStarts, failedSince: e.failedSince}
}

// endedBy returns the cause of the last end. A container may be observed as stopped before the event of its end was
// read: one that was stopped on request ended by hand.
func (e *entry) endedBy() healing.Cause {
	if e.cause == healing.CauseUnknown && e.killed && !live(e.container) {
		return healing.CauseHand
	}
	return e.cause
}

// ofLocked returns a task's main container: a live one, else the newest.
func (c *containers) ofLocked(task string) *entry {
	var best *entry
	for _, e := range c.byTask[task] {
		if isInit(e.container) {
			continue
		}
		if best == nil || live(e.container) && !live(best.container) ||
			live(e.container) == live(best.container) && e.container.CreatedAt.After(best.container.CreatedAt) {
			best = e
		}
	}
	return best
}

func (c *containers) inspect(ctx context.Context, id string) error {
	c.mu.Lock()
	before, at := c.clock, c.now()
	c.mu.Unlock()
	found, err := c.runtime.Inspect(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		c.remove(id)
		return nil
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	if e == nil {
		return nil
	}
	c.updateLocked(e, found)
	e.inspectedAt = at
	e.container.OOMKilled = found.OOMKilled || e.oom
	e.stale = e.touched > before
	return nil
}

// live reports whether the container runs, or the engine is about to run it.
func live(c runtime.Container) bool {
	return c.State == runtime.StateRunning || c.State == runtime.StatePaused || c.State == runtime.StateRestarting
}

// live reports whether a task's container, or one of its init containers, runs as far as is known.
func (c *containers) live(task string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.byTask[task], func(e *entry) bool { return live(e.container) })
}

// serves reports whether the incarnation that a status is about is the one that was observed last, with the same
// address: it ran then, and no event reported its end.
func (c *containers) serves(status api.TaskStatus) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[status.Container]
	if e == nil || e.died {
		return false
	}
	seen := e.container
	return seen.State == runtime.StateRunning && seen.Task() == status.ID && seen.StartedAt.Equal(status.StartedAt) &&
		seen.Address == status.Address && slices.Equal(seen.Ports, status.Ports)
}

// accounted records that the state of a task's container, with every end so far, is in its status.
func (c *containers) accounted(task string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.ofLocked(task); e != nil {
		e.watched = true
	}
}

// put adds a container that was just created.
func (c *containers) put(found runtime.Container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if e := c.entries[found.ID]; e != nil {
		c.updateLocked(e, found)
		e.stale, e.touched = false, c.clock
		return
	}
	c.addLocked(&entry{container: found, touched: c.clock, watched: true, inspectedAt: c.now()})
}

// touch marks a container as stale.
func (c *containers) touch(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if e := c.entries[id]; e != nil {
		e.stale, e.touched = true, c.clock
	}
}

// started records how a start of a container ended.
func (c *containers) started(id string, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	switch {
	case e == nil:
	case failed:
		if e.failedStarts++; e.failedStarts == 1 {
			e.failedSince = c.now()
		}
	default:
		e.failedStarts = 0
	}
}

// ending records that Tend is about to stop a container.
func (c *containers) ending(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[id]; e != nil {
		e.killed = true
	}
}

// touchOlder touches a container whose last inspection is older than age, and reports whether it did.
func (c *containers) touchOlder(id string, age time.Duration) bool {
	c.mu.Lock()
	e := c.entries[id]
	old := e != nil && c.now().Sub(e.inspectedAt) > age
	c.mu.Unlock()
	if old {
		c.touch(id)
	}
	return old
}

func (c *containers) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	c.removeLocked(id)
}

// all returns the containers as last observed.
func (c *containers) all() []runtime.Container {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]runtime.Container, 0, len(c.entries))
	for _, e := range c.entries {
		out = append(out, e.container)
	}
	return out
}
