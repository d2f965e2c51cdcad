package rollout

import (
	"slices"
	"time"

	"tend.dev/tend/api"
)

// step is the next act of a slot's agent, and its time.
type step struct {
	at   time.Time
	what func()
}

// next returns the agent's next step for a slot, if it has one.
func (w *world) next(s *Slot) (step, bool) {
	stoppedAt := w.stoppedAt[s.ID]
	switch {
	case w.stuck[s.ID] || w.cut[w.node[s.Task]]:
		return step{}, false
	case s.Off && w.boxes[s.Task]:
		return step{w.now, func() { delete(w.boxes, s.Task) }}, true
	case s.Desired == api.DesiredRemoved:
		return step{stoppedAt.Add(dropTakes), func() { s.Observed, s.Off, s.State = false, false, api.TaskPending }},
			s.Observed
	case s.Desired == api.DesiredShutdown:
		return step{stoppedAt.Add(stopTakes), func() { w.end(s, api.TaskShutdown, "stopped") }},
			s.Placed && !s.State.Terminal()
	case s.State.Terminal():
		return step{}, false
	case !s.Placed:
		placed := func() { s.Placed, s.Observed, s.State, w.node[s.Task] = true, true, api.TaskPreparing, w.choose() }
		return step{w.now, placed}, w.place(s)
	case s.State != api.TaskRunning:
		return w.starting(s)
	}
	return w.running(s)
}

// place plays the scheduler: it reports whether there is room for a slot, and records on it why not.
func (w *world) place(s *Slot) bool {
	old := w.slots[s.Replaces]
	s.Crowded = w.full && s.After == "" && old != nil && !old.stopped()
	s.Unplaceable = s.Crowded || w.noNode || w.choose() == ""
	if s.Unplaceable {
		s.Message = "no node has room"
	}
	return !s.Unplaceable
}

// starting waits for the container before, then starts.
func (w *world) starting(s *Slot) (step, bool) {
	for _, other := range w.slots {
		if other.Task == s.After && !other.stopped() {
			return step{}, false
		}
	}
	if slices.ContainsFunc(w.leftovers,
		func(old Slot) bool { return old.ID == s.ID && w.node[old.Task] == w.node[s.Task] }) {
		return step{}, false
	}
	if w.since[s.ID].IsZero() {
		w.since[s.ID] = w.now
	}
	if w.fates[s.Version.Release] == fateFails {
		return step{w.since[s.ID].Add(startTakes), func() { w.end(s, api.TaskFailed, "failed") }}, true
	}
	return step{w.since[s.ID].Add(startTakes), func() { w.start(s) }}, true
}

func (w *world) start(s *Slot) {
	s.State, s.StartedAt, s.RunningAt, s.Steady = api.TaskRunning, w.now, w.now, false
	if !w.probed {
		s.Ready, s.ReadyAt = true, w.now
	}
	w.boxed(s)
	w.log("  %s runs", s.ID)
}

// running returns the next step for a container that runs: what comes first of its end, its readiness, and the
// inspection after the monitor time.
func (w *world) running(s *Slot) (first step, found bool) {
	consider := func(after time.Duration, what func()) {
		if at := s.StartedAt.Add(after); !found || at.Before(first.at) {
			first, found = step{at, what}, true
		}
	}
	if s.CrashLoop {
		return step{}, false
	}
	fate := w.fates[s.Version.Release]
	switch fate {
	case fateCrashes:
		consider(crashTakes, func() { w.crashLoop(s) })
	case fateDies:
		consider(w.lives, func() { w.die(s) })
	}
	if s.Monitored && !s.Steady {
		consider(max(w.monitor[s.Task], s.Apart+s.Apart/4), func() { s.Steady = true })
	}
	once := fate == fateReadyOnce && !s.ReadyAt.IsZero()
	if !s.Ready && fate != fateCrashes && fate != fateNeverReady && !once {
		consider(readyTakes, func() {
			s.Ready, s.ReadyAt, s.UnreadyAt = true, w.now, time.Time{}
			w.log("  %s ready", s.ID)
		})
	}
	if s.Ready && once {
		consider(s.ReadyAt.Sub(s.StartedAt)+readyFor, func() {
			w.unready(s)
			w.log("  %s isn't ready any more", s.ID)
		})
	}
	return first, found
}

// unready takes a slot's readiness from it, while its container runs on.
func (w *world) unready(s *Slot) {
	if s.Ready {
		s.Ready, s.Steady, s.UnreadyAt = false, false, w.now
	}
}

// die ends the container, and the engine starts it again.
func (w *world) die(s *Slot) {
	w.exits[s.Task]++
	w.unready(s)
	s.Steady, s.Apart, s.StartedAt = false, w.lives, w.now
	if w.exits[s.Task] == loopExits {
		w.crashLoop(s)
		return
	}
	w.log("  %s died and runs again", s.ID)
	if !w.probed {
		s.Ready, s.ReadyAt, s.UnreadyAt = true, w.now, time.Time{}
	}
}

func (w *world) crashLoop(s *Slot) {
	w.unready(s)
	s.CrashLoop, s.Steady, s.Message = true, false, "exit code 1, 3 times in a minute"
	w.log("  %s crash-loops", s.ID)
}

// end ends a slot's task.
func (w *world) end(s *Slot, state api.TaskState, word string) {
	delete(w.boxes, s.Task)
	s.Observed, s.Ready, s.Steady, s.CrashLoop, s.State = true, false, false, false, state
	if s.EndedAt.IsZero() || s.wanted() {
		s.EndedAt = w.now
	}
	w.log("  %s %s", s.ID, word)
}

// earliest returns the agents' next step over all slots.
func (w *world) earliest() (step, bool) {
	var first step
	found := false
	for i, old := range w.leftovers {
		if !w.cut[w.node[old.Task]] { // its agent stops and removes it before anything else
			return step{w.now, func() { w.clear(i) }}, true
		}
	}
	for _, s := range w.sorted() {
		if next, ok := w.next(s); ok && (!found || next.at.Before(first.at)) {
			first, found = next, true
		}
	}
	return first, found
}

// work lets the agents do everything they have to do until a time, and sets the clock to it.
func (w *world) work(until time.Time) {
	for {
		next, ok := w.earliest()
		if !ok || next.at.After(until) {
			w.now = until
			return
		}
		if next.at.After(w.now) {
			w.now = next.at
		}
		next.what()
	}
}

// run decides and works until nothing is left to do, or until a time. It reports whether everything is quiet. A plan
// with actions is followed by another decision at once, as after a controller's own commit.
func (w *world) run(until time.Time) bool {
	for range 100_000 {
		w.earliest() // the scheduler says where there is no room
		plan := w.plan()
		w.tellPhase(plan)
		w.performAll(plan)
		if len(plan.Actions) > 0 {
			continue
		}
		next, working := w.earliest()
		at := next.at
		switch {
		case !working && plan.After == 0:
			return true
		case !working, plan.After > 0 && w.now.Add(plan.After).Before(at):
			at = w.now.Add(plan.After)
		}
		if at.After(until) {
			w.now = until
			return false
		}
		w.work(maxTime(at, w.now))
	}
	return false
}

// tellPhase prints a plan's phase or reason if it differs from the last one.
func (w *world) tellPhase(plan Plan) {
	if phase := string(plan.Phase) + plan.Reason; phase != w.phase {
		w.phase = phase
		w.log("%s: %s", plan.Phase, w.message(plan))
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
