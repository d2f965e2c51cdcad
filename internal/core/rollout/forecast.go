package rollout

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// maxForecast bounds a forecast: no plan for a real workload comes near.
const maxForecast = 100_000

// inTurn is up to how many slots a forecast tells replacements one after another. Beyond it they are told all at once:
// the actions are the same, and nobody reads their order.
const inTurn = 200

// Forecast returns every action that Decide would ask for, one plan after another, if each succeeded at once. It is
// what a dry run shows: the same planner, over slots that do as they are told. A crash loop alone is taken as it is.
func Forecast(desired Desired, slots []Slot, now time.Time) []Action {
	actions, _ := forecast(desired, slots, now)
	return actions
}

// forecast also returns the slots that are there in the end.
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
		changed := obey(world, now)
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

// perform changes the desired half of the world by one action.
func perform(world map[string]Slot, a Action, made int, now time.Time) int {
	s := world[a.Slot]
	//exhaustive:enforce
	switch a.Verb {
	case Create:
		made++
		id := a.Slot
		if id == "" {
			id = fmt.Sprintf("new-%d", made)
		}
		world[id] = Slot{ID: id, Task: id, Replaces: a.Replaces, After: a.After, Version: a.Version, Desired: api.DesiredRunning, CreatedAt: now}
		return made
	case Shutdown:
		s.Desired, s.NextAttempt = api.DesiredShutdown, a.NextAttempt
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

// obey lets every slot do what it was told, and says whether one still had to.
func obey(world map[string]Slot, now time.Time) bool {
	changed := false
	for id, s := range world {
		switch {
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
