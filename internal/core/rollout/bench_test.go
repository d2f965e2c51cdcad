package rollout

import (
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// BenchmarkDecide measures one decision: over slots that are as wanted, in the middle of a rollout with as many
// stopping slots as live ones, and with every second slot failed.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		for name, slots := range map[string][]Slot{"current": current(n), "rolling": rolling(n), "failing": failing(n)} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				desired := Desired{Replicas: n, Target: Version{Release: "v2"}, KeepDead: 3, Strategy: defaultStrategy()}
				for b.Loop() {
					Decide(desired, slots, epoch.Add(time.Hour))
				}
			})
		}
	}
}

func running(i int, release string) Slot {
	id := fmt.Sprintf("slot-%d", i)
	at := epoch.Add(time.Duration(i) * time.Millisecond)
	return Slot{
		ID: id, Task: "task-" + id, Version: Version{Release: release}, Desired: api.DesiredRunning,
		Placed: true, Observed: true,
		State: api.TaskRunning, Ready: true, CreatedAt: at, StartedAt: at, RunningAt: at, ReadyAt: at,
	}
}

func current(n int) []Slot {
	out := make([]Slot, 0, n)
	for i := range n {
		out = append(out, running(i, "v2"))
	}
	return out
}

// rolling returns a workload that is half replaced, with the replaced slots still stopping.
func rolling(n int) []Slot {
	var out []Slot
	for i := range n {
		s := running(i, "v1")
		if i%2 == 0 {
			next := running(n+i, "v2")
			next.Replaces = s.ID
			s.Desired, s.EndedAt = api.DesiredShutdown, next.ReadyAt
			out = append(out, next)
		}
		out = append(out, s)
	}
	return out
}

// failing returns a failed slot, after another failed one, for every second place.
func failing(n int) []Slot {
	var out []Slot
	for i := range n {
		s := running(i, "v2")
		if i%2 == 0 {
			next := running(n+i, "v2")
			s.State, s.EndedAt = api.TaskFailed, s.CreatedAt.Add(time.Second)
			next.Replaces, next.State, next.EndedAt = s.ID, api.TaskFailed, epoch.Add(time.Hour)
			out = append(out, next)
		}
		out = append(out, s)
	}
	return out
}
