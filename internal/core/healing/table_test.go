package healing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/core/probe"
)

var (
	start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ended = start.Add(time.Hour)
	now   = ended.Add(time.Second)
)

// TestTable prints the decisions after every end of a container. Rewrite testdata/table.txt with -rewrite.
func TestTable(t *testing.T) {
	datadriven.RunTest(t, "testdata/table.txt", func(t *testing.T, d *datadriven.TestData) string {
		var class, agent string
		d.ScanArgs(t, "class", &class)
		d.ScanArgs(t, "agent", &agent)
		var out strings.Builder
		for _, policy := range policies {
			for _, event := range events {
				out.WriteString(row(api.RestartClass(class), agent == "up", policy, event))
			}
			out.WriteString("\n")
		}
		return strings.TrimRight(out.String(), "\n") + "\n"
	})
}

var policies = []policy{
	{name: "no"}, {name: "on-failure"}, {name: "on-failure:3", restarts: 3}, {name: "unless-stopped"}, {name: "always"},
}

// policy is an engine's restart policy, with how often it has restarted the container so far.
type policy struct {
	name     string
	restarts int
}

var events = []event{
	{name: "exit 0"}, {name: "exit 1", code: 1}, {name: "oom", code: 137, oom: true},
	{name: "stop", cause: healing.CauseHand}, {name: "stop, exit 143", cause: healing.CauseHand, code: 143},
	{name: "kill", cause: healing.CauseHand, code: 137},
	{name: "rm -f", cause: healing.CauseHand, gone: true},
	{name: "engine restart", cause: healing.CauseEngine, code: 137},
	{name: "liveness fails", probe: probe.Liveness}, {name: "readiness fails", probe: probe.Readiness},
}

// event is a change of a running container, and what an agent that watched knows of it.
type event struct {
	name  string
	code  int
	oom   bool
	gone  bool
	cause healing.Cause // empty: it ended by itself
	probe probe.Kind    // it runs on, and this probe says that it shouldn't
}

func row(class api.RestartClass, watched bool, policy policy, what event) string {
	if class == api.ClassOnce && policy.name != "no" {
		return "" // the engine's policy is always no
	}
	status := runningStatus(policy.restarts)
	container, engine := afterwards(policy, what)
	in := healing.Input{
		Task:   api.Task{ID: "t1", Node: "n1", Class: class, Desired: api.DesiredRunning},
		Status: status, Container: container, Watched: watched, Grace: 10 * time.Second,
	}
	if watched {
		in.Cause = what.cause
		if what.cause == "" {
			in.Cause = healing.CauseExit
		}
	}
	if what.probe != "" && class == api.ClassOnce {
		return "" // what runs once has no probes
	}
	if what.probe != "" {
		in.Probes = answers(everyProbe, container, map[probe.Kind]api.ProbePhase{
			probe.Startup: api.ProbeHealthy, probe.Readiness: api.ProbeHealthy, what.probe: api.ProbeUnhealthy,
		})
	}
	decision := planRead(in, now)
	return fmt.Sprintf("%-15s %-15s -> %-11s -> %s\n", policy.name, what.name, engine, outcome(decision))
}

// afterwards returns the container as the engine leaves it: it restarts a container that exited by itself if its policy
// says so, and none that was stopped through it. (The engine's own restart does start some again; this is the moment
// before that.)
func afterwards(policy policy, what event) (*healing.Container, string) {
	if what.gone {
		return nil, "gone"
	}
	c := &healing.Container{
		ID: "c1", State: healing.Exited, Restart: policy.name, RestartCount: policy.restarts, ExitCode: what.code,
		OOMKilled: what.oom, CreatedAt: start, StartedAt: start, FinishedAt: ended,
	}
	if what.probe != "" {
		c.State = healing.Running
		return c, string(c.State)
	}
	restarts := map[string]bool{"always": true, "unless-stopped": true, "on-failure": what.code != 0}[policy.name]
	if what.cause == "" && restarts {
		c.State = healing.Restarting
		c.RestartCount++
	}
	return c, string(c.State)
}

func runningStatus(restarts int) api.TaskStatus {
	return api.TaskStatus{
		ID: "t1", Node: "n1", State: api.TaskRunning, Ready: true, Container: "c1", Incarnations: 1 + restarts,
		EngineRestarts: restarts, CreatedAt: start, StartedAt: start, RunningAt: start, ReadyAt: start,
	}
}

// planRead plans with the last lines that the plan asks for.
func planRead(in healing.Input, now time.Time, lines ...string) healing.Decision {
	d := healing.Plan(in, now)
	if d.Log == (healing.LogRequest{}) {
		return d
	}
	in.Log = &healing.LogReading{Request: d.Log, Since: now, Done: true, Lines: lines}
	return healing.Plan(in, now)
}

func outcome(d healing.Decision) string {
	text := "leave it"
	if d.Action.Verb != healing.None {
		text = d.Action.String()
	}
	text += "; task " + string(d.Status.State)
	if d.Status.Reason != "" {
		text += " " + d.Status.Reason
	}
	if len(d.Status.Exits) > 0 {
		text += fmt.Sprintf(" (counted %d)", len(d.Status.Exits))
	}
	return text
}
