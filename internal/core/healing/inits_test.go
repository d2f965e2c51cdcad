package healing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

// bench is a task with init containers and an engine that carries out the plan.
type bench struct {
	in   healing.Input
	now  time.Time
	made int
	// ran counts the starts of each init, passed those that ended with 0 in time.
	ran, passed map[string]int
}

func newBench(inits ...healing.Init) *bench {
	return &bench{now: start, ran: map[string]int{}, passed: map[string]int{}, in: healing.Input{
		Task:  api.Task{ID: "t1", Node: "n1", Class: api.ClassKeep, Desired: api.DesiredRunning},
		Grace: 10 * time.Second, Inits: inits,
	}}
}

// step plans once and carries the action out.
func (b *bench) step() healing.Decision {
	d := healing.Plan(b.in, b.now)
	b.in.Status, b.in.Fault = d.Status, nil
	if d.Action.Init == "" {
		b.main(d.Action)
	} else {
		b.init(d.Action)
	}
	return d
}

func (b *bench) container() healing.Container {
	b.made++
	return healing.Container{ID: fmt.Sprintf("c%d", b.made), State: healing.Created,
		Restart: "unless-stopped", CreatedAt: b.now}
}

func (b *bench) main(action healing.Action) {
	switch action.Verb {
	case healing.Create:
		c := b.container()
		b.in.Container = &c
	case healing.Start:
		b.in.Container.State, b.in.Container.StartedAt = healing.Running, b.now
	case healing.Stop:
		b.in.Container.State, b.in.Container.FinishedAt = healing.Exited, b.now
	case healing.Remove:
		b.in.Container = nil
	}
}

func (b *bench) init(action healing.Action) {
	at := b.find(action.Init)
	switch action.Verb {
	case healing.Create:
		b.in.InitContainers = append(b.in.InitContainers, healing.InitContainer{
			Container: b.container(), Name: action.Init, For: b.in.Container.ID, Attempt: action.Attempt,
		})
	case healing.Start:
		b.ran[action.Init]++
		at.State, at.StartedAt = healing.Running, b.now
	case healing.Stop:
		at.State, at.ExitCode, at.FinishedAt, at.Cause = healing.Exited, 0, b.now, healing.CauseHand
	case healing.Remove:
		b.remove(action.Init)
	case healing.Pull:
		for i := range b.in.Inits {
			b.in.Inits[i].Image = healing.ImageAssumed
		}
	}
}

func (b *bench) find(name string) *healing.InitContainer {
	for i := range b.in.InitContainers {
		if b.in.InitContainers[i].Name == name {
			return &b.in.InitContainers[i]
		}
	}
	return nil
}

func (b *bench) remove(name string) {
	b.in.InitContainers = slices.DeleteFunc(b.in.InitContainers,
		func(c healing.InitContainer) bool { return c.Name == name })
}

// end ends a running init by itself, or together with the engine.
func (b *bench) end(name string, code int, cause healing.Cause) {
	at := b.find(name)
	if at == nil || at.State != healing.Running {
		return
	}
	at.State, at.ExitCode, at.FinishedAt, at.Cause = healing.Exited, code, b.now, cause
	if code == 0 && cause == healing.CauseExit {
		b.passed[name]++
	}
}

// settle steps until no action is planned, and prints the actions.
func (b *bench) settle() string {
	var out strings.Builder
	for range 20 {
		d := b.step()
		if d.Action.Verb != healing.None {
			fmt.Fprintf(&out, "%s\n", d.Action)
			continue
		}
		if d.Log != (healing.LogRequest{}) && b.in.Log == nil {
			b.in.Log = &healing.LogReading{Request: d.Log, Since: b.now, Done: true, Lines: []string{"of " + d.Log.Container}}
			continue
		}
		fmt.Fprintf(&out, "task %s", d.Status.State)
		if d.Status.Reason != "" {
			fmt.Fprintf(&out, " %s: %s", d.Status.Reason, d.Status.Message)
		}
		if len(d.Status.LastLog) > 0 {
			fmt.Fprintf(&out, " (with the log %s)", d.Status.LastLog)
		}
		if d.After > 0 {
			fmt.Fprintf(&out, " (again in %s)", d.After)
		}
		if d.Forget {
			out.WriteString(" (forgotten)")
		}
		break
	}
	var left []string
	for _, at := range b.in.InitContainers {
		left = append(left, at.Name+" "+string(at.State))
	}
	if len(left) > 0 {
		fmt.Fprintf(&out, "\ninit containers: %s", strings.Join(left, ", "))
	}
	return out.String() + "\n"
}

// TestInits replays the lives of a task's init containers. Rewrite testdata/inits.txt with -rewrite.
func TestInits(t *testing.T) {
	var b *bench
	datadriven.RunTest(t, "testdata/inits.txt", func(t *testing.T, d *datadriven.TestData) string {
		var init string
		if len(d.CmdArgs) > 0 && d.CmdArgs[0].Key == "init" {
			init = d.CmdArgs[0].Vals[0]
		}
		switch d.Cmd {
		case "task":
			b = newBench(
				healing.Init{Name: "schema", Timeout: 10 * time.Minute, Retries: 1},
				healing.Init{Name: "seed", Timeout: time.Minute},
			)
			if d.HasArg("image-missing") {
				b.in.Inits[0].Image = healing.ImageMissing
			}
			if d.HasArg("held") {
				b.in.Task.After, b.in.Held = "t0", true
			}
		case "exit":
			var code int
			d.ScanArgs(t, "code", &code)
			cause := healing.CauseExit
			if d.HasArg("unseen") {
				cause = healing.CauseUnknown
			}
			b.end(init, code, cause)
			b.in.Frozen = b.in.Frozen || d.HasArg("freeze")
		case "engine-down":
			b.end(init, 137, healing.CauseEngine)
			b.in.Container.State = healing.Created
		case "rm":
			if init == "" {
				b.in.Container, b.in.Cause = nil, healing.CauseHand
			}
			b.remove(init)
		case "amnesia": // the last report was lost
			b.in.Status = api.TaskStatus{}
		case "engine-restarts-main":
			b.in.Container.RestartCount++
			b.in.Container.StartedAt = b.now
		case "main-exits":
			b.in.Container.State, b.in.Container.FinishedAt = healing.Exited, b.now
			b.in.Cause = healing.CauseHand
		case "freeze", "thaw":
			b.in.Frozen = d.Cmd == "freeze"
		case "released":
			b.in.Held = false
		case "shutdown":
			b.in.Task.Desired = api.DesiredShutdown
		case "remove":
			b.in.Task.Desired = api.DesiredRemoved
		case "pass":
			var span string
			d.ScanArgs(t, "time", &span)
			length, err := time.ParseDuration(span)
			if err != nil {
				t.Fatal(err)
			}
			b.now = b.now.Add(length)
		default:
			t.Fatalf("no such command: %s", d.Cmd)
		}
		return b.settle()
	})
}

// TestInitSafety: no two init containers run at once, none next to a started main container of the task, none again
// after it passed, and the main container starts only when all have passed for it.
func TestInitSafety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(healing.Init{Name: "a", Retries: 2, Timeout: time.Minute},
			healing.Init{Name: "b", Retries: 1, Timeout: time.Minute})
		name := func() string { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "init") }
		check := func(d healing.Decision) {
			running := 0
			for _, at := range b.in.InitContainers {
				if at.State == healing.Running {
					running++
				}
			}
			if running > 1 {
				t.Fatalf("%d init containers run at once", running)
			}
			if d.Action.Init == "" && d.Action.Verb == healing.Start && b.in.Container.StartedAt.Equal(b.now) {
				progress := d.Status.Inits
				if progress == nil || !progress.Done || progress.For != b.in.Container.ID || running > 0 {
					t.Fatalf("the main container started with %+v, %d running", progress, running)
				}
			}
			if d.Action.Init != "" && d.Action.Verb == healing.Start {
				if b.in.Task.Desired != api.DesiredRunning || b.in.Frozen || d.Status.State.Terminal() {
					t.Fatalf("init %s started although desired %s, frozen %v, %s", d.Action.Init, b.in.Task.Desired,
						b.in.Frozen, d.Status.State)
				}
				if b.passed[d.Action.Init] > 0 {
					t.Fatalf("init %s ran again although it had passed", d.Action.Init)
				}
			}
		}
		settle := func() {
			for range 30 {
				d := b.step()
				check(d)
				if d.Action.Verb == healing.None {
					return
				}
			}
			t.Fatal("never comes to rest")
		}
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) { b.end(name(), 0, healing.CauseExit) },
			"fail": func(t *rapid.T) { b.end(name(), 1, healing.CauseExit) },
			"down": func(t *rapid.T) { b.end(name(), 137, healing.CauseEngine) },
			"rm": func(t *rapid.T) {
				if at := b.find(name()); at != nil && at.State != healing.Running {
					b.remove(at.Name)
				}
			},
			"rm main": func(*rapid.T) {
				b.in.Container, b.in.Cause = nil, healing.CauseHand
				clear(b.passed)
			},
			"freeze": func(t *rapid.T) { b.in.Frozen = rapid.Bool().Draw(t, "frozen") },
			"step": func(*rapid.T) { // a crash may come after any step
				check(b.step())
			},
			"raise": func(t *rapid.T) {
				if next := rapid.SampledFrom([]api.DesiredState{api.DesiredRunning, api.DesiredRunning, api.DesiredRunning,
					api.DesiredShutdown, api.DesiredRemoved}).Draw(t, "desired"); b.in.Task.Desired.CanBecome(next) {
					b.in.Task.Desired = next
				}
			},
			"": func(t *rapid.T) {
				b.now = b.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
				settle()
				if b.in.Task.Desired == api.DesiredRemoved && len(b.in.InitContainers) > 0 {
					t.Fatalf("removed, but %d init containers are left", len(b.in.InitContainers))
				}
				if b.in.Status.Ready && len(b.in.InitContainers) > 0 {
					t.Fatal("ready with init containers left")
				}
			},
		})
	})
}
