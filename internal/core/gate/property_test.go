package gate

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

var states = []api.RunState{"", api.RunPending, api.RunRunning, api.RunSucceeded, api.RunFailed}

// TestDecideIsSafe: the invariants of doc.go, on any runs in any states.
func TestDecideIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Release: "v2", Lenient: rapid.Bool().Draw(t, "lenient"),
			Waiting: rapid.SampledFrom([][]string{nil, {"db"}}).Draw(t, "waiting")}
		if rapid.Bool().Draw(t, "busy") {
			in.Busy = &api.Run{ID: "v1-command", State: api.RunRunning}
		}
		roles := rapid.SampledFrom([][]api.TaskRole{nil, {api.RoleCommand}, {api.RolePre, api.RoleCommand}}).Draw(t, "roles")
		unfinished := 0
		for i, role := range roles {
			state := rapid.SampledFrom(states).Draw(t, "state")
			if i > 0 && in.Commands[i-1].Run == nil {
				state = "" // commands begin in order
			}
			in.Commands = append(in.Commands, Command{Role: role, Run: runIn(string(role), state)})
			if state != api.RunSucceeded && !(in.Lenient && state == api.RunFailed) {
				unfinished++
			}
		}
		d := Decide(in)
		if d.State == Open && unfinished > 0 {
			t.Fatalf("open with %d commands that have not succeeded", unfinished)
		}
		if d.State == Start {
			checkStart(t, in, d)
		}
		if again := Decide(in); again.State != d.State || again.Start != d.Start {
			t.Fatalf("the same input gave %v, then %v", d, again)
		}
	})
}

func checkStart(t *rapid.T, in Input, d Decision) {
	if in.Busy != nil {
		t.Fatalf("%s starts beside %s", d.Start, in.Busy.ID)
	}
	for i, command := range in.Commands {
		if command.Role == d.Start {
			if command.Run != nil {
				t.Fatalf("%s starts twice", d.Start)
			}
			if i == 0 && len(in.Waiting) > 0 {
				t.Fatalf("%s starts before %v is ready", d.Start, in.Waiting)
			}
			return
		}
		if !command.Run.State.Ended() || command.Run.State != api.RunSucceeded && !in.Lenient {
			t.Fatalf("%s starts after %s, which is %s", d.Start, command.Role, command.Run.State)
		}
	}
}

// TestFollowMovesForward: whatever the state of the task, a run never leaves its end, and one that ends says when and
// why.
func TestFollowMovesForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := api.Run{ID: "v2-command", State: rapid.SampledFrom(states[2:]).Draw(t, "run"), CreatedAt: epoch}
		var attempt *once.Attempt
		if rapid.Bool().Draw(t, "known") {
			attempt = &once.Attempt{
				Placed: rapid.Bool().Draw(t, "placed"),
				Lost:   rapid.Bool().Draw(t, "lost"),
				Desired: rapid.SampledFrom([]api.DesiredState{api.DesiredRunning, api.DesiredShutdown, api.DesiredRemoved}).Draw(t,
					"desired"),
				Reason: rapid.SampledFrom([]string{"asked", api.ReasonReleaseTimeout}).Draw(t, "why"),
				StopAt: epoch.Add(time.Minute),
			}
		}
		if attempt != nil && rapid.Bool().Draw(t, "observed") {
			exit := rapid.SampledFrom([]int{0, 1, 137}).Draw(t, "exit")
			attempt.Status = &api.TaskStatus{
				State: rapid.SampledFrom([]api.TaskState{api.TaskPending, api.TaskRunning, api.TaskComplete, api.TaskFailed,
					api.TaskRejected, api.TaskShutdown}).Draw(t, "task"),
				Reason: "Exited", ExitCode: rapid.SampledFrom([]*int{nil, &exit}).Draw(t, "code"),
				FinishedAt: epoch.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "finished")) * time.Second),
			}
		}
		now := epoch.Add(time.Duration(rapid.IntRange(0, 1200).Draw(t, "now")) * time.Second)
		p := Follow(run, attempt, 10*time.Minute, now)
		switch {
		case run.State.Ended() && (p.Changed || p.Stop != "" || p.Run.State != run.State):
			t.Fatalf("%s went on: %+v", run.State, p)
		case p.Run.State == api.RunFailed && p.Changed && (p.Run.Reason == "" || p.Run.FinishedAt.IsZero()):
			t.Fatalf("it failed without a reason or a time: %+v", p.Run)
		case p.Run.State == api.RunSucceeded && p.Changed && !succeeded(*attempt):
			t.Fatalf("it succeeded without an end of its own: %+v", attempt)
		case p.Stop != "" && attempt.Desired != api.DesiredRunning:
			t.Fatal("a task that is being stopped is stopped again")
		case !p.Run.State.Ended() && p.Stop == "" && p.After == 0 && attempt.Desired == api.DesiredRunning:
			t.Fatal("nothing reconciles it at the time limit")
		}
	})
}

// succeeded reports whether the agent said that the container completed, or stopped one that had exited with 0 before.
func succeeded(a once.Attempt) bool {
	s := a.Status
	return s != nil && (s.State == api.TaskComplete ||
		s.State == api.TaskShutdown && s.ExitCode != nil && *s.ExitCode == 0 && s.FinishedAt.Before(a.StopAt))
}
