package rollout

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestANodeThatEndsEverything: however a node says that a pod ended, and since when, its place is filled less and less
// often.
func TestANodeThatEndsEverything(t *testing.T) {
	at := func(ago time.Duration) func(*world, *Slot) time.Time {
		return func(w *world, s *Slot) time.Time { return w.now.Add(-ago) }
	}
	none := func(*world, *Slot) time.Time { return time.Time{} }
	for name, says := range map[string]struct {
		state          api.TaskState
		ended, running func(*world, *Slot) time.Time
	}{
		"complete":                 {api.TaskComplete, at(0), none},
		"failed":                   {api.TaskFailed, at(0), at(0)},
		"rejected, without a time": {api.TaskRejected, none, none},
		"an hour ago":              {api.TaskComplete, at(time.Hour), none},
		"after it ran for an hour": {api.TaskComplete, at(0), at(time.Hour)},
		"in the seventies":         {api.TaskFailed, func(*world, *Slot) time.Time { return time.Unix(0, 0) }, none},
		"in a while":               {api.TaskComplete, at(-50 * time.Second), none},
	} {
		for _, isOrdered := range []bool{false, true} {
			w := newWorld()
			w.desired.Replicas, w.desired.Ordered, w.desired.Target.Release = 1, isOrdered, "v1"
			w.desired.Strategy.OnFailure = api.OnFailureContinue
			for range 3600 {
				for range 5 {
					w.performAll(w.plan())
					for _, s := range w.slots {
						s.Placed = true
						switch {
						case s.live():
							s.State, s.Observed = says.state, true
							s.EndedAt, s.RunningAt = says.ended(w, s), says.running(w, s)
						case s.Desired == api.DesiredRemoved:
							s.Observed = false
						}
					}
				}
				w.now = w.now.Add(time.Second)
			}
			if w.made < 5 || w.made > 40 {
				t.Errorf("%s, ordered %v: %d tasks in an hour", name, isOrdered, w.made)
			}
		}
	}
}
