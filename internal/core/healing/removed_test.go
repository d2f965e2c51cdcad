package healing_test

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

// TestAStartThatNoReportHasYetIsCounted: of a container that started just before its task is removed or shut down, the
// first status reports the one start, and the next status no second one.
func TestAStartThatNoReportHasYetIsCounted(t *testing.T) {
	for _, desired := range []api.DesiredState{api.DesiredRemoved, api.DesiredShutdown} {
		in := healing.Input{Task: api.Task{ID: "t1", Node: "n1", Class: api.ClassKeep, Desired: desired},
			Status:    api.TaskStatus{State: api.TaskStarting},
			Container: &healing.Container{ID: "c1", State: healing.Running, CreatedAt: start, StartedAt: start}}
		for range 2 {
			in.Status = healing.Plan(in, now).Status
			if in.Status.Incarnations != 1 || !in.Status.StartedAt.Equal(start) || in.Status.Reason != api.ReasonStopping {
				t.Errorf("%s: %d starts, the last one at %s, %s", desired, in.Status.Incarnations, in.Status.StartedAt,
					in.Status.Reason)
			}
		}
	}
}
