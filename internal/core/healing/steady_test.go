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
	// ran is the run time of each incarnation, by its start.
	ran map[time.Time]time.Duration
}

func newLate() *late {
	l := &late{now: start, ran: map[time.Time]time.Duration{}}
	l.real = healing.Container{ID: "c1", State: healing.Running, Restart: "unless-stopped",
		CreatedAt: start, StartedAt: start}
	l.in.Task = api.Task{ID: "t1", Node: "n1", Class: api.ClassKeep, Monitor: "5s", Desired: api.DesiredRunning}
	l.in.Watched = true
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
		l.pass(6 * time.Minute) // whatever loop there was is over
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

// TestWhatKeepsDyingLooksNeverWell: a program dies every 20 s. It is steady once, before its first end. From then on it
// isn't until it has run for longer than its ends were apart; and from the third end to that moment it loops without a
// gap.
func TestWhatKeepsDyingLooksNeverWell(t *testing.T) {
	l := newLate()
	second := func() healing.Decision {
		l.pass(time.Second)
		l.inspect()
		d := l.plan()
		if request := d.Log; request != (healing.LogRequest{}) {
			l.in.Log = &healing.LogReading{Request: request, Since: l.now, Done: true, Lines: []string{"boom"}}
			d = l.plan()
		}
		return d
	}
	for end := 1; end <= 4; end++ {
		for range 20 {
			d := second()
			if end > 1 && d.Status.Steady {
				t.Fatalf("steady %s after its start, after %d ends", l.now.Sub(l.real.StartedAt), end-1)
			}
			if end > loopExits && !d.Status.CrashLoop {
				t.Fatalf("no loop %s after its start, after %d ends", l.now.Sub(l.real.StartedAt), end-1)
			}
		}
		if end == 4 {
			break
		}
		l.crash()
		second()
		l.comeBack()
		l.real.RestartCount = end
	}
	for range 5 {
		second()
	}
	if d := second(); !d.Status.CrashLoop {
		t.Errorf("the loop is over %s after its start: its ends were 21 s apart", l.now.Sub(l.real.StartedAt))
	}
	l.pass(40 * time.Second)
	if d := second(); d.Status.CrashLoop || !d.Status.Steady {
		t.Errorf("it has outlived its lives: loop %v, steady %v", d.Status.CrashLoop, d.Status.Steady)
	}
}

const loopExits = 3

// TestApart: only recent ends count, and the first life like the others.
func TestApart(t *testing.T) {
	at := func(offsets ...time.Duration) (out []time.Time) {
		for _, offset := range offsets {
			out = append(out, start.Add(offset))
		}
		return out
	}
	for name, tc := range map[string]struct {
		status api.TaskStatus
		want   time.Duration
	}{
		"no end":         {api.TaskStatus{RunningAt: start}, 0},
		"the first life": {api.TaskStatus{RunningAt: start, Exits: at(20 * time.Second)}, 20 * time.Second},
		"the longest": {api.TaskStatus{RunningAt: start, Exits: at(20*time.Second, 50*time.Second, time.Minute)},
			30 * time.Second},
		"a long life before": {api.TaskStatus{RunningAt: start, Exits: at(time.Hour)}, 0},
		"lives since": {api.TaskStatus{RunningAt: start, Exits: at(time.Minute, time.Hour, time.Hour+10*time.Second)},
			10 * time.Second},
		"it ran on": {api.TaskStatus{RunningAt: start, Exits: at(20 * time.Second),
			FinishedAt: start.Add(time.Hour)}, 0},
	} {
		if got := healing.Apart(tc.status); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestLastEnd: how a container ended is said after it runs again.
func TestLastEnd(t *testing.T) {
	at, code := []time.Time{time.Unix(1, 0)}, func(n int) *int { return &n }
	for name, tc := range map[string]struct {
		reason string
		status api.TaskStatus
		want   string
	}{
		"none":   {"it never ended", api.TaskStatus{ExitCode: code(0)}, ""},
		"code":   {"a program's own", api.TaskStatus{Exits: at, ExitCode: code(3)}, "exit code 3"},
		"signal": {"128 and the signal", api.TaskStatus{Exits: at, ExitCode: code(137)}, "exit code 137, signal 9"},
		"memory": {"the code would say less",
			api.TaskStatus{Exits: at, ExitCode: code(137), OOMKilled: true}, "out of memory"},
		"unknown": {"the engine's event had none", api.TaskStatus{Exits: at}, "exit code unknown"},
		"high":    {"no signal has the number", api.TaskStatus{Exits: at, ExitCode: code(255)}, "exit code 255"},
	} {
		if got := healing.LastEnd(tc.status); got != tc.want {
			t.Errorf("%s: %s: %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}
