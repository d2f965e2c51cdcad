package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestTranscripts replays testdata: `gate` decides about a release, `follow` about a run. -rewrite writes the current
// answers.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "gate":
				return show(Decide(inputOf(d)))
			case "follow":
				return follow(t, d)
			}
			t.Fatalf("there is no command %s", d.Cmd)
			return ""
		})
	})
}

// inputOf reads one line per command: role=state; the arguments are lenient, busy=<run> and waiting=<text>.
func inputOf(d *datadriven.TestData) Input {
	in := Input{Release: "v2", Lenient: d.HasArg("lenient")}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "busy":
			in.Busy = &api.Run{ID: arg.Vals[0], State: api.RunRunning}
		case "waiting":
			in.Waiting = arg.Vals
		}
	}
	for line := range strings.Lines(d.Input) {
		role, state, _ := strings.Cut(strings.TrimSpace(line), "=")
		in.Commands = append(in.Commands, Command{Role: api.TaskRole(role), Run: runIn("v2-"+role, api.RunState(state))})
	}
	return in
}

func runIn(id string, state api.RunState) *api.Run {
	if state == "" {
		return nil
	}
	run := &api.Run{ID: id, State: state, Attempts: []api.RunAttempt{{Pod: "prod-web." + id}}}
	if state == api.RunFailed {
		run.Reason, run.Message = "Exited", "the container ended with exit code 1"
	}
	return run
}

func show(d Decision) string {
	out := string(d.State)
	if d.Start != "" {
		out += " " + string(d.Start)
	}
	if d.Reason != "" {
		out += "\n" + d.Reason + ": " + d.Message
	}
	return out + "\n"
}

// follow reads the run's age and the state of its task: desired, state, exit, stopped (how long ago its stop was
// requested) and ended (how long ago it ended).
func follow(t *testing.T, d *datadriven.TestData) string {
	now := epoch.Add(time.Hour)
	ago := func(key string) time.Time {
		var text string
		if !d.MaybeScanArgs(t, key, &text) {
			return time.Time{}
		}
		age, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return now.Add(-age)
	}
	run := api.Run{ID: "v2-command", State: api.RunRunning, CreatedAt: ago("age")}
	if d.HasArg("over") {
		run.State, run.Reason, run.Message = api.RunFailed, "Exited", "the container ended with exit code 1"
	}
	var attempt *once.Attempt
	if !d.HasArg("lost") {
		task := once.Attempt{Placed: !d.HasArg("unplaced"), Desired: api.DesiredRunning, StopAt: ago("stopped")}
		if !task.StopAt.IsZero() {
			task.Desired, task.Reason = api.DesiredShutdown, "a user asked"
			d.MaybeScanArgs(t, "why", &task.Reason)
		}
		attempt = &task
	}
	if d.HasArg("state") {
		var state string
		d.ScanArgs(t, "state", &state)
		status := api.TaskStatus{State: api.TaskState(state), Reason: "Exited",
			Message:   "the container ended with exit code 1",
			StartedAt: run.CreatedAt.Add(time.Second), FinishedAt: ago("ended"), LastLog: []string{"boom"}}
		if exit := -1; d.MaybeScanArgs(t, "exit", &exit) {
			status.ExitCode = &exit
		}
		attempt.Status = &status
	}
	p := Follow(run, attempt, 10*time.Minute, now)
	out := string(p.Run.State)
	if p.Run.Reason != "" {
		out += fmt.Sprintf(" %s: %s %v", p.Run.Reason, p.Run.Message, p.Run.LastLog)
	}
	if p.Stop != "" {
		out += "\nstop: " + p.Stop
	}
	if p.After > 0 {
		out += "\nafter " + p.After.String()
	}
	return out + "\n"
}
