package healing_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

const monitor = 5 * time.Second

// late is a container and an agent that learns of its changes late: it plans with the state of the last inspection.
type late struct {
	real healing.Container
	in   healing.Input
	now  time.Time
	// ran is how long each incarnation ran, by its start.
	ran map[time.Time]time.Duration
}

func newLate() *late {
	l := &late{now: start, ran: map[time.Time]time.Duration{}}
	l.real = healing.Container{ID: "c1", State: healing.Running, Restart: "unless-stopped", CreatedAt: start, StartedAt: start}
	l.in.Task = api.Task{ID: "t1", Node: "n1", Class: api.ClassKeep, Monitor: "5s", Desired: api.DesiredRunning}
	l.inspect()
	return l
}

// inspect makes the agent inspect the container.
func (l *late) inspect() {
	seen := l.real
	l.in.Container, l.in.InspectedAt = &seen, l.now
}

func (l *late) pass(d time.Duration) {
	l.now = l.now.Add(d)
	if l.real.State == healing.Running {
		l.ran[l.real.StartedAt] = l.now.Sub(l.real.StartedAt)
	}
}

// plan plans until no inspection is requested.
func (l *late) plan() healing.Decision {
	d := healing.Plan(l.in, l.now)
	if d.Inspect {
		l.inspect()
		d = healing.Plan(l.in, l.now)
	}
	l.in.Status = d.Status
	return d
}

func (l *late) crash() {
	l.real.State, l.real.FinishedAt, l.real.ExitCode = healing.Restarting, l.now, 3
	l.real.RestartCount++
}

func (l *late) comeBack() {
	l.real.State, l.real.StartedAt = healing.Running, l.now
}

// TestSteady: a running container is steady once an inspection after the monitor time saw it run, and that needs one
// inspection.
func TestSteady(t *testing.T) {
	l := newLate()
	if d := l.plan(); d.Status.Steady || d.After != monitor || !d.Status.Ready {
		t.Fatalf("at its start: steady %v, again in %s", d.Status.Steady, d.After)
	}
	l.pass(monitor)
	if d := healing.Plan(l.in, l.now); !d.Inspect || d.Status.Steady {
		t.Fatalf("what was seen at its start is believed: inspect %v, steady %v", d.Inspect, d.Status.Steady)
	}
	if d := l.plan(); !d.Status.Steady || d.Inspect || d.After != 0 {
		t.Fatalf("after the inspection: steady %v, inspect %v, again in %s", d.Status.Steady, d.Inspect, d.After)
	}
	l.pass(time.Hour)
	if d := healing.Plan(l.in, l.now); d.Inspect || d.After != 0 || !d.Status.Steady {
		t.Errorf("it is asked after again: inspect %v, again in %s", d.Inspect, d.After)
	}
	l.crash()
	l.inspect()
	if d := l.plan(); d.Status.Steady {
		t.Error("steady while it is down")
	}
	l.comeBack()
	l.inspect()
	if d := l.plan(); d.Status.Steady || d.After != monitor {
		t.Errorf("the next incarnation starts over: steady %v, again in %s", d.Status.Steady, d.After)
	}
}

// TestLateWordIsNoProof: the container crashed at once, and the agent learns it only by its inspection.
func TestLateWordIsNoProof(t *testing.T) {
	l := newLate()
	l.plan()
	l.pass(50 * time.Millisecond)
	l.crash()
	l.pass(monitor)
	if d := l.plan(); d.Status.Steady || d.Status.Ready || d.Status.Reason != api.ReasonRestarting {
		t.Errorf("steady %v, %s", d.Status.Steady, outcome(d))
	}
}

// TestSteadyAfterTheClockWasSetBack: the wait is not as long as the jump.
func TestSteadyAfterTheClockWasSetBack(t *testing.T) {
	l := newLate()
	l.plan()
	l.now = start.Add(-time.Hour)
	if d := l.plan(); !d.Status.Steady {
		t.Errorf("again in %s", d.After)
	}
}

// TestNoMonitorNoInspection: runs and slots with probes are not inspected.
func TestNoMonitorNoInspection(t *testing.T) {
	l := newLate()
	l.in.Task.Monitor = ""
	l.pass(time.Hour)
	if d := healing.Plan(l.in, l.now); d.Inspect || d.Status.Steady || d.After != 0 {
		t.Errorf("inspect %v, steady %v, again in %s", d.Inspect, d.Status.Steady, d.After)
	}
}

// TestSteadyIsTrue: however late and in whatever order events come, a steady incarnation ran for the monitor time; and
// one that runs on becomes steady.
func TestSteadyIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLate()
		t.Repeat(map[string]func(*rapid.T){
			"crash":    func(*rapid.T) { l.maybeCrash() },
			"comeback": func(*rapid.T) { l.maybeComeBack() },
			"inspect":  func(*rapid.T) { l.inspect() },
			"read": func(*rapid.T) {
				if l.in.Log != nil {
					l.in.Log.Done = true
				}
			},
			"": func(t *rapid.T) {
				l.pass(time.Duration(rapid.IntRange(1, 9000).Draw(t, "ms")) * time.Millisecond)
				d := l.plan()
				if request := d.Log; l.in.Log == nil || l.in.Log.Request != request {
					l.in.Log = &healing.LogReading{Request: request, Since: l.now}
				}
				if s := d.Status; s.Steady && l.ran[s.StartedAt] < monitor {
					t.Fatalf("steady, but the incarnation of %s ran for %s", s.StartedAt, l.ran[s.StartedAt])
				}
			},
		})
		l.maybeComeBack()
		l.inspect()
		l.plan()
		l.pass(2 * time.Minute) // whatever loop there was is over
		if d := l.plan(); !d.Status.State.Terminal() && d.Action.Verb == healing.None && !d.Status.Steady {
			t.Fatalf("it runs on and is not steady: %+v", d)
		}
	})
}

func (l *late) maybeCrash() {
	if l.real.State == healing.Running {
		l.crash()
	}
}

func (l *late) maybeComeBack() {
	if l.real.State == healing.Restarting {
		l.comeBack()
	}
}
