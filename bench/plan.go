package main

import (
	"context"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
)

// planFor is the time for which decisions are repeated.
const planFor = 300 * time.Millisecond

// plans measures one decision about 10, 1,000 and 10,000 slots, half of them outdated, which is the planner's largest
// work.
func plans(_ context.Context, _ *harness) error {
	for _, n := range []int{10, 1_000, 10_000} {
		now := time.Now()
		slots := halfOutdated(n, now)
		desired := rollout.Desired{
			Replicas: n, Target: rollout.Version{Release: "v2"}, KeepDead: 3,
			Strategy: api.DeploymentSpec{Strategy: &api.Strategy{MaxParallel: n, Pause: "0s"}}.ResolvedStrategy(),
		}
		took := repeated(planFor, func() { rollout.Decide(desired, slots, now) })
		duration(fmt.Sprintf("plan-%d", n), took)
		value(fmt.Sprintf("plan-%d-rate", n), float64(n)/took.Seconds(), "slots/s")
	}
	return nil
}

// halfOutdated returns n running slots, every second one of an older release.
func halfOutdated(n int, now time.Time) []rollout.Slot {
	slots := make([]rollout.Slot, n)
	for i := range slots {
		at := now.Add(time.Duration(i-n) * time.Second)
		id := fmt.Sprintf("%08x", i)
		slots[i] = rollout.Slot{
			ID: id, Task: "task-" + id, Version: rollout.Version{Release: fmt.Sprintf("v%d", i%2+1)},
			Desired: api.DesiredRunning, Placed: true, Observed: true, State: api.TaskRunning, Ready: true,
			CreatedAt: at, StartedAt: at, RunningAt: at, ReadyAt: at,
		}
	}
	return slots
}

// repeated returns the mean time of a call, repeated for a while.
func repeated(over time.Duration, do func()) time.Duration {
	began, calls := time.Now(), 0
	for time.Since(began) < over {
		do()
		calls++
	}
	return time.Since(began) / time.Duration(calls)
}
