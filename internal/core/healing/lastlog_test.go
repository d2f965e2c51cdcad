package healing_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

// logWait is the time for which the report of a failure waits for its lines.
const logWait = 10 * time.Second

// checkLog starts the reading that a decision asks for, and checks what is reported without its lines: nothing that
// they could still come with, and everything that has waited long enough.
func (w *world) checkLog(t *rapid.T, d healing.Decision) {
	before := w.in
	ends := d.Status.State == api.TaskFailed && before.Status.State != api.TaskFailed
	loops := d.Status.CrashLoop && !before.Status.CrashLoop
	reading := before.Log
	waited := reading != nil && (reading.Done || w.now.Sub(reading.Since) >= logWait)
	if (ends || loops) && before.Container != nil && !waited {
		t.Fatalf("reported a failure (%s, loop %v) without waiting for its lines: %+v", d.Status.State, loops, reading)
	}
	switch {
	case d.Log == (healing.LogRequest{}):
		w.in.Log = nil
	case reading == nil || reading.Request != d.Log:
		w.in.Log = &healing.LogReading{Request: d.Log, Since: w.now}
	case waited && d.Status.State == api.TaskRunning && before.Task.Class == api.ClassOnce &&
		d.Log.End == healing.EndOfTask:
		t.Fatalf("a failure is not reported although its reading %+v waited since %s", reading, w.now.Sub(reading.Since))
	}
}

// failing is a run that ended with 3 and is being planned for.
func failing() healing.Input {
	return healing.Input{
		Task: api.Task{ID: "t1", Node: "n1", Class: api.ClassOnce, Desired: api.DesiredRunning}, Status: runningStatus(0),
		Container: &healing.Container{ID: "c1", State: healing.Exited, Restart: "no", ExitCode: 3, CreatedAt: start,
			StartedAt: start, FinishedAt: ended},
		Cause: healing.CauseExit,
	}
}

// TestFailureWaitsForItsLines: after a short wait they are in one report with the end; there is no long wait.
func TestFailureWaitsForItsLines(t *testing.T) {
	in := failing()
	d := healing.Plan(in, now)
	if d.Status.State != api.TaskRunning || d.Status.Ready || d.Status.ExitCode == nil || d.After != logWait {
		t.Fatalf("before its lines: %s, ready %v, again in %s", outcome(d), d.Status.Ready, d.After)
	}
	in.Status, in.Log = d.Status, &healing.LogReading{Request: d.Log, Since: now}
	if d = healing.Plan(in, now.Add(4*time.Second)); d.Status.State != api.TaskRunning || d.After != 6*time.Second {
		t.Fatalf("while they are read: %s, again in %s", outcome(d), d.After)
	}
	in.Log.Done, in.Log.Lines = true, []string{"boom"}
	d = healing.Plan(in, now.Add(5*time.Second))
	if d.Status.State != api.TaskFailed || len(d.Status.LastLog) != 1 || d.Log != (healing.LogRequest{}) ||
		!d.Status.FinishedAt.Equal(ended) {
		t.Errorf("with them: %s, %v, %+v", outcome(d), d.Status.LastLog, d.Log)
	}
}

// TestAFailureThatPrintsNothing says so, unless its output couldn't be read.
func TestAFailureThatPrintsNothing(t *testing.T) {
	for _, c := range []struct {
		silent bool
		code   int
		want   string
	}{
		{true, 3, "the container ended with exit code 3 and printed nothing"},
		{false, 3, "the container ended with exit code 3"},
		{true, 0, "the container ended with exit code 0"}, // what went well needs no words
	} {
		in := failing()
		in.Container.ExitCode = c.code
		d := healing.Plan(in, now)
		in.Status, in.Log = d.Status, &healing.LogReading{Request: d.Log, Since: now, Done: true, Silent: c.silent}
		if got := healing.Plan(in, now.Add(time.Second)).Status.Message; got != c.want {
			t.Errorf("silent %v, code %d: %q, want %q", c.silent, c.code, got, c.want)
		}
	}
}

// TestALoopThatPrintsNothing is said to print nothing also while its output is read again, after a start of the agent.
func TestALoopThatPrintsNothing(t *testing.T) {
	exits := []time.Time{start, start.Add(time.Second), start.Add(2 * time.Second)}
	for name, c := range map[string]struct {
		said string
		log  *healing.LogReading
		want string
	}{
		"not read yet": {"", nil, "exit code 3"},
		"read, silent": {"", &healing.LogReading{Done: true, Silent: true}, "exit code 3 and printed nothing"},
		"read again":   {"and printed nothing", nil, "exit code 3 and printed nothing"},
		"prints now":   {"and printed nothing", &healing.LogReading{Done: true, Lines: []string{"boom"}}, "exit code 3"},
	} {
		code := 3
		status := runningStatus(0)
		status.Container, status.CrashLoop, status.Exits, status.Message = "c1", true, exits, c.said
		status.ExitCode, status.EngineRestarts, status.Incarnations = &code, 3, 4
		in := healing.Input{
			Task: api.Task{ID: "t1", Node: "n1", Desired: api.DesiredRunning}, Status: status, Watched: true,
			Container: &healing.Container{ID: "c1", State: healing.Restarting, Restart: "always", RestartCount: 3,
				ExitCode: 3, CreatedAt: start, StartedAt: start, FinishedAt: exits[2]},
		}
		if in.Log = c.log; in.Log != nil {
			in.Log.Request = healing.LogRequest{Container: "c1", End: healing.EndOfLoop}
		}
		want := "the program keeps exiting: 4 starts, the last ended with " + c.want
		if d := healing.Plan(in, exits[2].Add(time.Second)); d.Status.Message != want {
			t.Errorf("%s: %q, want %q", name, d.Status.Message, want)
		}
	}
}

// TestLinesFollowAFailure: if the lines take too long, the failure is reported without them, and they follow when they
// come.
func TestLinesFollowAFailure(t *testing.T) {
	in := failing()
	d := healing.Plan(in, now)
	in.Status, in.Log = d.Status, &healing.LogReading{Request: d.Log, Since: now}
	late := now.Add(logWait)
	if d = healing.Plan(in, late); d.Status.State != api.TaskFailed || d.Status.LastLog != nil || d.Log != in.Log.Request {
		t.Fatalf("after %s: %s, %v, %+v", logWait, outcome(d), d.Status.LastLog, d.Log)
	}
	in.Status, in.Log.Done, in.Log.Lines = d.Status, true, []string{"boom"}
	d = healing.Plan(in, late.Add(time.Second))
	if d.Status.State != api.TaskFailed || len(d.Status.LastLog) != 1 || !d.Status.FinishedAt.Equal(ended) {
		t.Errorf("when they come: %s, %v", outcome(d), d.Status.LastLog)
	}
}

// TestClockSetBackEndsTheWait: a wait that would last as long as the jump ends.
func TestClockSetBackEndsTheWait(t *testing.T) {
	in := failing()
	in.Log = &healing.LogReading{Request: healing.LogRequest{Container: "c1", End: healing.EndOfTask},
		Since: now.Add(time.Hour)}
	if d := healing.Plan(in, now); d.Status.State != api.TaskFailed {
		t.Error(outcome(d))
	}
}
