package agent

import (
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
)

// recordEvent records an event and reports whether its task should be reconciled.
//
// A die after a kill or a stop through the engine was caused by a person or program; any other is the container's own
// exit. The agent's own stops count like that too, which does no harm: such a container isn't wanted running, and that
// is checked first.
func (c *containers) recordEvent(event runtime.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if event.Kind == runtime.EventDestroy {
		_, known := c.entries[event.Container]
		c.removeLocked(event.Container)
		return known
	}
	e := c.entries[event.Container]
	if e == nil {
		e = c.addUnknownLocked(event)
	} else if old(e, event) {
		return false
	}
	e.touched = c.clock
	before := e.address()
	defer func() { c.moves(before, e.address()) }()
	return e.take(event)
}

// addUnknownLocked adds an entry for a container that is not known yet.
func (c *containers) addUnknownLocked(event runtime.Event) *entry {
	labels := map[string]string{api.LabelTask: event.Task}
	e := &entry{container: runtime.Container{ID: event.Container, Name: event.Name, Labels: labels},
		stale: true, watched: true}
	c.addLocked(e)
	return e
}

// old reports whether the container was inspected after the event, so that the inspection already covers it. Only the
// events of Tend's own starts are worth the distinction.
func old(e *entry, event runtime.Event) bool {
	switch event.Kind {
	case runtime.EventCreate, runtime.EventStart:
		return !e.stale && !e.killed && e.exit == nil && event.At.Before(e.inspectedAt)
	}
	return false
}

// take records what an event says and reports whether the container must be inspected.
func (e *entry) take(event runtime.Event) bool {
	switch event.Kind {
	case runtime.EventKill:
		e.killed = e.killed || ends(event.Signal)
		return false
	case runtime.EventOOM:
		e.oom = true
		return false
	case runtime.EventStart:
		e.killed, e.oom, e.cause = false, false, healing.CauseUnknown
	case runtime.EventDie:
		e.ended(event)
	case runtime.EventStop:
		e.cause = healing.CauseHand
	}
	e.stale = true
	return true
}

func (e *entry) ended(event runtime.Event) {
	e.died = true
	if e.killed {
		e.cause = healing.CauseHand
		return
	}
	e.cause = healing.CauseExit
	e.exit = &healing.Exit{Code: event.ExitCode, OOM: e.oom, At: event.At}
}

// ends reports whether a signal is meant to end a process. Unknown signals count as such: stop signals are freely
// chosen.
func ends(signal string) bool {
	switch strings.TrimPrefix(strings.ToUpper(signal), "SIG") {
	case "HUP", "USR1", "USR2", "CONT", "WINCH", "CHLD", "URG", "STOP", "TSTP", "0", "1", "10", "12", "17", "18",
		"19", "20", "23", "28":
		return false
	}
	return true
}

// gap records that events were missed from here on.
func (c *containers) gap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		e.watched = false
	}
}

// ended records that the machine reports the end of a container's process while the engine can't. It ignores a
// container that was observed since: that is another incarnation.
func (c *containers) ended(watched runtime.Container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[watched.ID]
	if e == nil || !e.container.StartedAt.Equal(watched.StartedAt) {
		return
	}
	c.clock++
	c.moves(e.address(), "")
	e.died, e.stale, e.touched = true, true, c.clock
}

// mark returns the clock before a list: the list may lack what is touched after it.
func (c *containers) mark() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock
}

// compare updates the cache from a full list and returns the tasks to reconcile. A container that ran before a gap and
// no longer does ended with the engine: a stream on one machine ends for no other reason. Containers that were touched
// while the list was made are inspected again.
func (c *containers) compare(listed []runtime.Container, mark int64, gap bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var tasks []string
	present := make(map[string]bool, len(listed))
	for _, found := range listed {
		present[found.ID] = true
		if c.differsLocked(found, mark, gap) {
			tasks = append(tasks, found.Task())
		}
	}
	for id, e := range c.entries {
		if !present[id] && e.touched <= mark {
			c.removeLocked(id)
			tasks = append(tasks, e.container.Task())
		}
	}
	return tasks
}

func (c *containers) differsLocked(found runtime.Container, mark int64, gap bool) bool {
	e := c.entries[found.ID]
	if e != nil && found.Undescribed {
		found = undescribed(e.container, found)
	}
	switch {
	case e == nil: // it may be gone by now
		c.addLocked(&entry{container: found, touched: c.clock, stale: c.clock > mark || found.Undescribed})
		return true
	case gap:
		if live(e.container) && !live(found) && e.cause == healing.CauseUnknown {
			e.cause = healing.CauseEngine
		}
	case e.touched > mark || sameIncarnation(e.container, found):
		return false
	}
	if e.touched <= mark {
		c.updateLocked(e, found)
		e.stale = found.Undescribed
		e.container.OOMKilled = found.OOMKilled || e.oom
	}
	return true
}

// undescribed returns the known container with what the engine still says of it. If that differs, nothing is decided
// about its task until it can be inspected; else it is as it was, and serves.
func undescribed(known, found runtime.Container) runtime.Container {
	known.State, known.Address, known.Undescribed = found.State, found.Address, true
	return known
}

// sameIncarnation reports whether a listed container equals the known one, including its address.
func sameIncarnation(known, found runtime.Container) bool {
	return known.State == found.State && known.RestartCount == found.RestartCount && known.Address == found.Address &&
		known.StartedAt.Equal(found.StartedAt)
}
