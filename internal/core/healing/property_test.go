package healing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/core/probe"
)

// world is a task with a model of an engine; rapid decides what happens to it.
type world struct {
	in        healing.Input
	now       time.Time
	made      int
	started   int
	forgotten bool
	// stored is the last report; a new server knows nothing else.
	stored api.TaskStatus
}

func (w *world) end(t *rapid.T, byHand bool) {
	c := w.in.Container
	if c == nil || c.State != healing.Running {
		return
	}
	c.State, c.FinishedAt = healing.Exited, w.now
	c.ExitCode = rapid.SampledFrom([]int{0, 1, 137}).Draw(t, "code")
	c.OOMKilled = c.ExitCode == 137 && !byHand && rapid.Bool().Draw(t, "oom")
	if byHand {
		w.in.Cause = healing.CauseHand
		return
	}
	w.in.Cause = healing.CauseExit
	if c.Restart == "unless-stopped" || (c.Restart == "on-failure" && c.ExitCode != 0) {
		c.State = healing.Restarting
		c.RestartCount++
	}
}

func (w *world) engineStarts() {
	if c := w.in.Container; c != nil && c.State == healing.Restarting {
		c.State, c.StartedAt, c.ExitCode = healing.Running, w.now, 0
	}
}

// probe lets the probes of what runs answer.
func (w *world) probe(t *rapid.T) {
	c := w.in.Container
	if c == nil || c.State != healing.Running || w.in.Task.Class == api.ClassOnce {
		return
	}
	phases := map[probe.Kind]api.ProbePhase{}
	for _, kind := range []probe.Kind{probe.Startup, probe.Liveness, probe.Readiness} {
		phases[kind] = rapid.SampledFrom([]api.ProbePhase{api.ProbeUnknown, api.ProbeHealthy, api.ProbeUnhealthy}).Draw(t,
			string(kind))
	}
	w.in.Probes = answers(everyProbe, c, phases)
}

// step carries one decision out, checking the invariants.
func (w *world) step(t *rapid.T) healing.Decision {
	before := w.in
	d := healing.Plan(w.in, w.now)
	if !before.Status.State.CanBecome(d.Status.State) {
		t.Fatalf("state fell from %s to %s", before.Status.State, d.Status.State)
	}
	w.checkLog(t, d)
	w.in.Status = d.Status
	c := w.in.Container
	switch d.Action.Verb {
	case healing.Create:
		if c != nil {
			t.Fatal("a second container")
		}
		w.made++
		w.in.Container = &healing.Container{ID: "c" + string(rune('a'+w.made%26)), State: healing.Created,
			Restart: w.policy(), CreatedAt: w.now}
	case healing.Start:
		if w.in.Task.Desired != api.DesiredRunning || w.in.Held || w.in.Frozen || before.Status.State.Terminal() {
			t.Fatalf("started although desired %s, held %v, frozen %v, %s", w.in.Task.Desired, w.in.Held,
				w.in.Frozen, before.Status.State)
		}
		if w.started++; w.in.Task.Class == api.ClassOnce && w.started > 1 {
			t.Fatal("what runs once was started twice")
		}
		c.State, c.StartedAt, c.RestartCount = healing.Running, w.now, 0
		w.in.Cause = healing.CauseUnknown
	case healing.Stop:
		c.State, c.FinishedAt, c.ExitCode = healing.Exited, w.now, 143
	case healing.Remove:
		w.in.Container = nil
	case healing.Pull:
		w.in.Image = healing.ImageAssumed
	}
	w.forgotten = d.Forget
	return d
}

func (w *world) policy() string {
	if w.in.Task.Class == api.ClassOnce {
		return "no"
	}
	return w.in.Task.Restart // the test keeps the drawn policy here
}

// settle plans until no action is left, and checks that planning again changes nothing.
func (w *world) settle(t *rapid.T) {
	for range 10 {
		if w.step(t).Action.Verb == healing.None {
			break
		}
	}
	again := healing.Plan(w.in, w.now)
	if again.Action.Verb != healing.None {
		t.Fatalf("still asks for %s", again.Action)
	}
	if diff := cmp.Diff(w.in.Status, again.Status); diff != "" {
		t.Fatalf("another plan reports a change: %s", diff)
	}
}

func TestSafety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: start}
		w.in.Task = api.Task{
			ID: "t1", Node: "n1", Desired: api.DesiredRunning, After: "t0",
			Class:   rapid.SampledFrom([]api.RestartClass{api.ClassKeep, api.ClassOnce}).Draw(t, "class"),
			Restart: rapid.SampledFrom([]string{"no", "on-failure", "unless-stopped"}).Draw(t, "policy"),
		}
		w.in.Held = rapid.Bool().Draw(t, "held")
		w.in.Watched = rapid.Bool().Draw(t, "watched")
		t.Repeat(map[string]func(*rapid.T){
			"exit":    func(t *rapid.T) { w.end(t, false) },
			"kill":    func(t *rapid.T) { w.end(t, true) },
			"restart": func(*rapid.T) { w.engineStarts() },
			"rm":      func(*rapid.T) { w.in.Container, w.in.Cause = nil, healing.CauseHand },
			"pause": func(*rapid.T) {
				if c := w.in.Container; c != nil && c.State == healing.Running {
					c.State = healing.Paused
				}
			},
			"log": func(t *rapid.T) {
				if w.in.Log != nil {
					w.in.Log.Done, w.in.Log.Lines = true, rapid.SampledFrom([][]string{nil, {"boom"}}).Draw(t, "lines")
				}
			},
			"prune":    func(*rapid.T) { w.in.Image = healing.ImageMissing },
			"released": func(*rapid.T) { w.in.Held = false },
			"probe":    func(t *rapid.T) { w.probe(t) },
			"freeze":   func(t *rapid.T) { w.in.Frozen = rapid.Bool().Draw(t, "frozen") },
			"report":   func(*rapid.T) { w.stored, w.in.Recorded = w.in.Status, w.in.Status.Container },
			"reborn":   func(*rapid.T) { w.in.Status, w.in.Probes = w.stored, nil },
			"amnesia":  func(*rapid.T) { w.in.Cause = healing.CauseUnknown },
			"raise": func(t *rapid.T) {
				if next := rapid.SampledFrom([]api.DesiredState{api.DesiredRunning, api.DesiredRunning, api.DesiredShutdown,
					api.DesiredRemoved}).Draw(t, "desired"); w.in.Task.Desired.CanBecome(next) {
					w.in.Task.Desired = next
				}
			},
			"reject": func(t *rapid.T) {
				w.in.Fault = &healing.Fault{Rejected: rapid.Bool().Draw(t, "rejected"), Reason: "Bad"}
				w.step(t)
				w.in.Fault = nil
			},
			"": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
				w.settle(t)
				w.check(t)
			},
		})
	})
}

// check asserts what must hold once everything has settled.
func (w *world) check(t *rapid.T) {
	c, desired := w.in.Container, w.in.Task.Desired
	runs := c != nil && c.State == healing.Running
	if w.in.Status.Ready && !runs && !w.forgotten {
		t.Fatal("ready without a running container")
	}
	if w.in.Status.Ready && !probe.Judge(w.in.Status.Probes).Ready {
		t.Fatalf("ready against its probes %+v", w.in.Status.Probes)
	}
	if runs && (desired != api.DesiredRunning || w.in.Frozen || w.in.Status.State.Terminal()) {
		t.Fatalf("runs although desired %s, frozen %v, %s", desired, w.in.Frozen, w.in.Status.State)
	}
	if desired == api.DesiredRemoved && (c != nil || !w.forgotten) {
		t.Fatalf("removed, but %+v is left", c)
	}
	if desired == api.DesiredShutdown && !w.in.Status.State.Terminal() {
		t.Fatalf("shut down, but %s", w.in.Status.State)
	}
}
