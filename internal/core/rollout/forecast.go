package rollout

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// maxForecast bounds a forecast; plans for real workloads are far shorter.
const maxForecast = 100_000

// inTurn is the number of slots up to which a forecast lists replacements one after another. Beyond it they are listed
// all at once: the actions are the same, and their order is of no use to a reader.
const inTurn = 200

// Forecast returns every action that Decide would return, one plan after another, if each succeeded at once. A dry run
// shows it: it is the same planner, over slots that do what is planned. Only a crash loop and a node that doesn't
// answer stay as they are.
func Forecast(desired Desired, slots []Slot, now time.Time) []Action {
	actions, _ := forecast(desired, slots, now)
	return actions
}

// forecast also returns the slots in the end.
func forecast(desired Desired, slots []Slot, now time.Time) ([]Action, []Slot) {
	world := make(map[string]Slot, len(slots))
	for _, s := range slots {
		world[s.ID] = s
	}
	most := max(len(slots), desired.Replicas)
	if most > inTurn {
		desired.Strategy.MaxParallel = most
	}
	decide := Decide
	if desired.Ordered {
		decide = func(d Desired, slots []Slot, now time.Time) Plan { return decideOrdered(d, slots, now, most > inTurn) }
	}
	var out []Action
	for made := 0; len(out) < maxForecast; {
		plan := decide(desired, slices.Collect(maps.Values(world)), now)
		for _, a := range plan.Actions {
			if a.Verb == RollBack {
				return append(out, a), slices.Collect(maps.Values(world))
			}
			made = perform(world, a, made, now)
		}
		changed := simulate(world, now)
		switch {
		case len(plan.Actions) > 0 || changed:
			now = now.Add(time.Millisecond)
		case plan.After > 0:
			now = now.Add(plan.After)
		default:
			return out, slices.Collect(maps.Values(world))
		}
		out = append(out, plan.Actions...)
	}
	return out, slices.Collect(maps.Values(world))
}

// perform applies one action to the desired half of the world.
func perform(world map[string]Slot, a Action, made int, now time.Time) int {
	s := world[a.Slot]
	//exhaustive:enforce
	switch a.Verb {
	case Create:
		made++
		id := a.Slot
		if id == "" {
			id = fresh + strconv.Itoa(made)
		}
		world[id] = Slot{ID: id, Task: id, Replaces: a.Replaces, After: a.After, Version: a.Version,
			Failed: a.Failed, Desired: api.DesiredRunning, CreatedAt: now}
		return made
	case Shutdown:
		s.Desired, s.NextAttempt = api.DesiredShutdown, a.NextAttempt
		if a.NextAttempt > 0 {
			s.Failed = a.Failed
		}
		if s.EndedAt.IsZero() {
			s.EndedAt = now
		}
	case Remove:
		s.Desired = api.DesiredRemoved
	case Forget:
		delete(world, a.Slot)
		return made
	case RollBack: // Forecast ends before it
		return made
	}
	world[a.Slot] = s
	return made
}

// simulate lets every slot reach its desired state, and reports whether any slot changed.
func simulate(world map[string]Slot, now time.Time) bool {
	changed := false
	for id, s := range world {
		switch {
		case s.Lost, s.Away:
			continue
		case s.live() && !s.serves() && !s.CrashLoop:
			s.Placed, s.Unplaceable, s.Crowded, s.Observed, s.State, s.Ready = true, false, false, true, api.TaskRunning, true
			s.StartedAt, s.ReadyAt = now, now
			if s.RunningAt.IsZero() {
				s.RunningAt = now
			}
		case s.live() && s.serves() && s.Monitored && !s.Steady:
			s.Steady = true
		case s.Desired == api.DesiredShutdown && s.Placed && !s.State.Terminal():
			s.State = api.TaskShutdown
		case s.Desired == api.DesiredRemoved && s.Observed:
			s.Observed = false
		default:
			continue
		}
		world[id], changed = s, true
	}
	return changed
}
