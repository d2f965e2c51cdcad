package rollout

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// maxForecast bounds a forecast: no plan for a real workload comes near.
const maxForecast = 100_000

// Forecast returns every action that Decide would ask for, one plan after another, if each succeeded at once. It is
// what a dry run shows: the same planner, over slots that do as they are told.
func Forecast(desired Desired, slots []Slot, now time.Time) []Action {
	world := make(map[string]Slot, len(slots))
	for _, s := range slots {
		world[s.ID] = s
	}
	var out []Action
	for made := 0; len(out) < maxForecast; {
		plan := Decide(desired, values(world), now)
		if len(plan.Actions) == 0 {
			if plan.After == 0 || plan.Phase == api.RolloutComplete {
				return out
			}
			now = now.Add(plan.After)
			continue
		}
		for _, a := range plan.Actions {
			if a.Verb == RollBack {
				return append(out, a)
			}
			made = perform(world, a, made, now)
		}
		out = append(out, plan.Actions...)
		now = now.Add(time.Millisecond)
	}
	return out
}

// perform changes the world as if an action had succeeded.
func perform(world map[string]Slot, a Action, made int, now time.Time) int {
	s := world[a.Slot]
	switch a.Verb {
	case Create:
		made++
		id := fmt.Sprintf("new-%d", made)
		world[id] = Slot{
			ID: id, Task: id, Replaces: a.Replaces, Version: a.Version, Desired: api.DesiredRunning, Placed: true, Observed: true,
			State: api.TaskRunning, Ready: true, CreatedAt: now, StartedAt: now, RunningAt: now, ReadyAt: now,
		}
		return made
	case Shutdown:
		s.Desired, s.EndedAt = api.DesiredShutdown, now
		if !s.State.Terminal() {
			s.State = api.TaskShutdown
		}
	case Remove:
		s.Desired, s.Observed = api.DesiredRemoved, false
	case Forget:
		delete(world, a.Slot)
		return made
	}
	world[a.Slot] = s
	return made
}

func values(world map[string]Slot) []Slot {
	out := make([]Slot, 0, len(world))
	for _, s := range world {
		out = append(out, s)
	}
	return out
}
