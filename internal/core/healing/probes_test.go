package healing_test

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/core/probe"
)

var (
	everyProbe = api.Probes{Startup: &api.Probe{}, Liveness: &api.Probe{}, Readiness: &api.Probe{}}
	keepTask   = api.Task{ID: "t1", Node: "n1", Class: api.ClassKeep, Desired: api.DesiredRunning}
)

// answers returns the state of the container's probes.
func answers(declared api.Probes, c *healing.Container, phases map[probe.Kind]api.ProbePhase) *healing.Probing {
	out := &healing.Probing{Declared: declared, Container: c.ID, StartedAt: c.StartedAt,
		Answers: map[string]api.ProbeStatus{}}
	for kind, phase := range phases {
		out.Answers[string(kind)] = api.ProbeStatus{Phase: phase, Message: "status 500", Transition: 1}
	}
	return out
}

func running() *healing.Container {
	return &healing.Container{ID: "c1", State: healing.Running, Restart: "unless-stopped",
		CreatedAt: start, StartedAt: start}
}

func TestReadyComesFromProbes(t *testing.T) {
	const unknown, healthy, unhealthy = api.ProbeUnknown, api.ProbeHealthy, api.ProbeUnhealthy
	type phases = map[probe.Kind]api.ProbePhase
	for name, tc := range map[string]struct {
		reason string
		phases phases
		want   string
	}{
		"all pass": {"what passes all its probes serves",
			phases{probe.Startup: healthy, probe.Liveness: healthy, probe.Readiness: healthy}, "leave it; task running"},
		"starting": {"what has not started up serves no requests yet",
			phases{probe.Startup: unknown, probe.Readiness: healthy}, "leave it; task running StartupPending"},
		"asked of readiness": {"nor does what has not answered",
			phases{probe.Startup: healthy, probe.Readiness: unknown}, "leave it; task running Unready"},
		"readiness lost": {"lost readiness restarts nothing",
			phases{probe.Startup: healthy, probe.Liveness: healthy, probe.Readiness: unhealthy},
			"leave it; task running Unready"},
		"liveness unknown": {"a liveness probe without an answer holds nothing back",
			phases{probe.Startup: healthy, probe.Liveness: unknown, probe.Readiness: healthy}, "leave it; task running"},
		"liveness lost": {"what is not alive is restarted at once, ready or not",
			phases{probe.Startup: healthy, probe.Liveness: unhealthy, probe.Readiness: healthy},
			"stop (grace 10s); task running LivenessFailed"},
		"never started up": {"a startup probe that used up its failures gives the container up as liveness does",
			phases{probe.Startup: unhealthy}, "stop (grace 10s); task running StartupFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := running()
			in := healing.Input{Task: keepTask, Status: runningStatus(0), Container: c, Grace: 10 * time.Second}
			in.Probes = answers(everyProbe, c, tc.phases)
			d := healing.Plan(in, now)
			if got := outcome(d); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if d.Status.Ready != (tc.want == "leave it; task running") {
				t.Errorf("ready is %v", d.Status.Ready)
			}
			if d.Probe != (d.Action.Verb == healing.None) {
				t.Errorf("%s, and its probes are asked: %v", d.Action, d.Probe)
			}
		})
	}
}

// TestAnswersOfAnotherIncarnationDontCount: the container restarted by itself and its prober has not noticed yet.
func TestAnswersOfAnotherIncarnationDontCount(t *testing.T) {
	before := running()
	in := healing.Input{Task: keepTask, Status: runningStatus(0), Container: before}
	in.Probes = answers(everyProbe, before, map[probe.Kind]api.ProbePhase{
		probe.Startup: api.ProbeHealthy, probe.Liveness: api.ProbeUnhealthy, probe.Readiness: api.ProbeHealthy,
	})
	again := running()
	again.StartedAt, again.RestartCount = now, 1
	in.Container = again
	in.Status.Probes = in.Probes.Answers
	d := healing.Plan(in, now)
	if d.Action.Verb != healing.None || d.Status.Ready || d.Status.Reason != api.ReasonStartupPending {
		t.Errorf("a new incarnation starts over: %s", outcome(d))
	}
	if got := d.Status.Probes["liveness"]; got.Phase != api.ProbeUnknown || got.Before != api.ProbeUnhealthy ||
		got.Transition != 2 {
		t.Errorf("and remembers what was: %+v", got)
	}
}

// TestUnknownProbesStay: the declaration can't be read at the moment, so the reported state stays.
func TestUnknownProbesStay(t *testing.T) {
	in := healing.Input{Task: keepTask, Status: runningStatus(0), Container: running()}
	in.Status.Probes = map[string]api.ProbeStatus{"readiness": {Phase: api.ProbeUnhealthy}}
	in.Status.Ready = false
	if d := healing.Plan(in, now); d.Status.Ready || d.Status.Reason != api.ReasonUnready {
		t.Errorf("an unready container became ready: %s", outcome(d))
	}
}

// TestSinceWhenItIsUnready: the time stays while it isn't ready, and goes when it is again.
func TestSinceWhenItIsUnready(t *testing.T) {
	in := healing.Input{Task: keepTask, Status: runningStatus(0), Container: running()}
	for i, step := range []struct {
		phase api.ProbePhase
		want  time.Time
	}{
		{api.ProbeHealthy, time.Time{}}, {api.ProbeUnhealthy, now.Add(time.Minute)},
		{api.ProbeUnhealthy, now.Add(time.Minute)},
		{api.ProbeHealthy, time.Time{}}, {api.ProbeUnhealthy, now.Add(4 * time.Minute)},
	} {
		in.Status.Probes = map[string]api.ProbeStatus{"readiness": {Phase: step.phase}}
		d := healing.Plan(in, now.Add(time.Duration(i)*time.Minute))
		if in.Status = d.Status; d.Status.Ready != step.want.IsZero() || !d.Status.UnreadyAt.Equal(step.want) {
			t.Fatalf("step %d: ready %v, unready since %s, want %s", i, d.Status.Ready, d.Status.UnreadyAt, step.want)
		}
	}
}

// lifeless is a container that dies again and again, and is restarted as decided each time.
type lifeless struct {
	t   *testing.T
	in  healing.Input
	now time.Time
}

func newLifeless(t *testing.T) *lifeless {
	return &lifeless{t: t, now: start,
		in: healing.Input{Task: keepTask, Status: runningStatus(0), Container: running(), Grace: time.Second}}
}

// fail is the liveness probe's verdict after a while.
func (l *lifeless) fail(after time.Duration) healing.Decision {
	l.now = l.now.Add(after)
	l.in.Probes = answers(api.Probes{Liveness: &api.Probe{}}, l.in.Container,
		map[probe.Kind]api.ProbePhase{probe.Liveness: api.ProbeUnhealthy})
	return l.plan()
}

func (l *lifeless) plan() healing.Decision {
	d := planRead(l.in, l.now, "boom")
	l.in.Status = d.Status
	return d
}

// stopped leaves the container as the engine does after a stop.
func (l *lifeless) stopped(after time.Duration) healing.Decision {
	l.now = l.now.Add(after)
	c := *l.in.Container
	c.State, c.ExitCode, c.FinishedAt = healing.Exited, 137, l.now
	l.in.Container, l.in.Cause = &c, healing.CauseHand
	return l.plan()
}

func (l *lifeless) started() {
	l.now = l.now.Add(time.Second)
	c := *l.in.Container
	c.State, c.StartedAt = healing.Running, l.now
	l.in.Container, l.in.Probes = &c, answers(api.Probes{Liveness: &api.Probe{}}, &c, nil)
	if d := l.plan(); d.Action.Verb != healing.None || !d.Status.Ready {
		l.t.Fatalf("the new incarnation: %s", outcome(d))
	}
}

func (l *lifeless) want(d healing.Decision, what string) {
	l.t.Helper()
	if got := outcome(d); got != what {
		l.t.Fatalf("at %s: %q, want %q", l.now.Sub(start), got, what)
	}
}

const (
	stops  = "stop (grace 1s); task running LivenessFailed"
	starts = "start; task running LivenessFailed"
	rests  = "leave it; task running LivenessFailed"
)

// TestLivenessRestartsAgainAndAgain: three restarts with growing pauses, and the fourth verdict fails the task.
func TestLivenessRestartsAgainAndAgain(t *testing.T) {
	l := newLifeless(t)
	l.want(l.fail(time.Minute), stops)
	l.want(l.plan(), stops)
	l.want(l.stopped(time.Second), starts)
	l.started()

	d := l.fail(time.Second)
	l.want(d, rests)
	if !d.Probe || d.After != 7*time.Second || !strings.Contains(d.Status.Message, "restarted at 12:01:10 UTC") {
		t.Errorf("before the second restart: plans again after %s, %q", d.After, d.Status.Message)
	}
	l.want(l.fail(7*time.Second), stops)
	l.want(l.stopped(time.Second), starts)
	l.started()

	l.want(l.fail(17*time.Second), rests)
	l.want(l.fail(time.Second), stops)
	l.want(l.stopped(time.Second), starts)
	l.started()

	l.want(l.fail(37*time.Second), rests)
	l.want(l.fail(time.Second), stops)
	if d := l.plan(); !strings.Contains(d.Status.Message, "after 3 restarts") {
		t.Errorf("the last stop says %q", d.Status.Message)
	}
	d = l.stopped(time.Hour)
	l.want(d, "leave it; task failed LivenessFailed")
	if len(d.Status.LastLog) == 0 || d.Status.ExitCode != nil {
		t.Errorf("log %v, exit code %v of our own kill", d.Status.LastLog, d.Status.ExitCode)
	}
}

// TestLivenessRestartsAreForgiven: a container that fails less often than three times in ten minutes is restarted for
// ever.
func TestLivenessRestartsAreForgiven(t *testing.T) {
	l := newLifeless(t)
	for range 20 {
		l.want(l.fail(4*time.Minute), stops)
		l.want(l.stopped(time.Second), starts)
		l.started()
	}
	if kept := len(l.in.Status.LivenessRestarts); kept != 5 {
		t.Errorf("%d times are kept, want 5", kept)
	}
}

// TestDecidedRestartStays: a probe that passes while its container is being stopped changes nothing.
func TestDecidedRestartStays(t *testing.T) {
	l := newLifeless(t)
	l.want(l.fail(time.Minute), stops)
	l.in.Probes = answers(api.Probes{Liveness: &api.Probe{}}, l.in.Container,
		map[probe.Kind]api.ProbePhase{probe.Liveness: api.ProbeHealthy})
	l.want(l.plan(), stops)
	if len(l.in.Status.LivenessRestarts) != 1 {
		t.Errorf("counted %d times", len(l.in.Status.LivenessRestarts))
	}
	l.in.Container.Restart = "no" // whatever the policy
	l.in.Cause = healing.CauseUnknown
	l.want(l.stopped(time.Second), starts)
}

// TestRecoveryEndsTheRest: a container that passes again before its restart is left alone.
func TestRecoveryEndsTheRest(t *testing.T) {
	l := newLifeless(t)
	l.fail(time.Minute)
	l.stopped(time.Second)
	l.started()
	l.want(l.fail(time.Second), rests)
	l.in.Probes = answers(api.Probes{Liveness: &api.Probe{}}, l.in.Container,
		map[probe.Kind]api.ProbePhase{probe.Liveness: api.ProbeHealthy})
	if d := l.plan(); d.Action.Verb != healing.None || !d.Status.Ready {
		t.Errorf("recovered: %s", outcome(d))
	}
}

// TestTheImagesCheckTakesNothingOutOfService: a pod that serves when its image's check becomes known goes on serving
// until that fails; a new container waits for its first pass.
func TestTheImagesCheckTakesNothingOutOfService(t *testing.T) {
	image := &healing.Probing{Declared: api.Probes{Readiness: &api.Probe{}}, Source: "image"}
	in := healing.Input{Task: keepTask, Status: runningStatus(0), Container: running(), Probes: image}
	d := healing.Plan(in, now)
	if readiness := d.Status.Probes["readiness"]; !d.Status.Ready || readiness.Phase != api.ProbeHealthy ||
		readiness.Source != "image" {
		t.Errorf("it serves: %+v", d.Status)
	}
	in.Status = api.TaskStatus{ID: "t1", Node: "n1", State: api.TaskStarting}
	if d = healing.Plan(in, now); d.Status.Ready || d.Status.Message != "the readiness (image) probe has not passed yet" {
		t.Errorf("a new one: %+v", d.Status)
	}
}

// TestUnreadyAndSteady: a container is steady though its probe fails, so that a probe that flaps resets nothing.
func TestUnreadyAndSteady(t *testing.T) {
	l := newLate()
	l.in.Probes = answers(api.Probes{Readiness: &api.Probe{}}, &l.real,
		map[probe.Kind]api.ProbePhase{probe.Readiness: api.ProbeUnknown})
	if d := l.plan(); d.Status.Steady || d.Status.Ready || d.After != monitor {
		t.Fatalf("at its start: %+v, again in %s", d.Status, d.After)
	}
	l.pass(monitor)
	if d := l.plan(); !d.Status.Steady || d.Status.Ready {
		t.Errorf("after the monitor time: %+v", d.Status)
	}
	l.in.Probes = answers(api.Probes{Readiness: &api.Probe{}}, &l.real,
		map[probe.Kind]api.ProbePhase{probe.Readiness: api.ProbeHealthy})
	if d := l.plan(); !d.Status.Steady || !d.Status.Ready {
		t.Errorf("and ready: %+v", d.Status)
	}
}
