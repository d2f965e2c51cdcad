package timetable

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

// TestNothingIsForgottenUnheard: an agent that has a task and has not reported on it yet may be creating its container.
// The record is deleted only after the agent has reported that the task ended, and then that its container is gone.
func TestNothingIsForgottenUnheard(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	over := &api.TaskStatus{ID: "t1", State: api.TaskShutdown, FinishedAt: now}
	for name, c := range map[string]struct {
		desired api.DesiredState
		placed  bool
		status  *api.TaskStatus
		want    []Verb
	}{
		"its agent has it and said nothing":        {api.DesiredRunning, true, nil, []Verb{StopAttempt}},
		"it is being stopped, nothing is said yet": {api.DesiredShutdown, true, nil, nil},
		"it is said to have ended":                 {api.DesiredShutdown, true, over, []Verb{RemoveTask}},
		"its container is being removed":           {api.DesiredRemoved, true, over, nil},
		"its container is said to be gone":         {api.DesiredRemoved, true, nil, []Verb{ForgetTask}},
		"no agent ever had it":                     {api.DesiredRunning, false, nil, []Verb{RemoveTask}},
		"no agent ever had it, and it is to go":    {api.DesiredRemoved, false, nil, []Verb{ForgetTask}},
	} {
		t.Run(name, func(t *testing.T) {
			task := Task{ID: "t1", Run: "r1", Number: 1, CreatedAt: now,
				Attempt: once.Attempt{Desired: c.desired, Placed: c.placed, Status: c.status}}
			plan := Decide(Desired{Deleting: true}, Observed{Tasks: []Task{task}}, now)
			var got []Verb
			for _, action := range plan.Actions {
				got = append(got, action.Verb)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
