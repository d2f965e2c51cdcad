package healing_test

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

func TestPlan(t *testing.T) {
	keep := api.Task{ID: "t1", Node: "n1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	wanted := func(desired api.DesiredState) api.Task {
		task := keep
		task.Desired = desired
		return task
	}
	once := keep
	once.Class = api.ClassOnce
	running := runningStatus(0)
	is := func(state healing.State) *healing.Container {
		c := &healing.Container{ID: "c1", State: state, Restart: "unless-stopped", CreatedAt: start}
		if state != healing.Created {
			c.StartedAt = start
		}
		return c
	}
	frozen := running
	frozen.Reason = api.ReasonFrozen
	held := running
	held.Reason = api.ReasonPluginAtWork
	away := healing.Unreachable(running, "no answer")
	noPolicy := is(healing.Exited)
	noPolicy.Restart = "no"

	for name, tc := range map[string]struct {
		reason string
		in     healing.Input
		want   string
	}{
		"new": {"a wanted task without a container gets one",
			healing.Input{Task: keep}, "create; task preparing Creating"},
		"created": {"a container that was made is started",
			healing.Input{Task: keep, Container: is(healing.Created)}, "start; task starting Starting"},
		"once, not recorded": {"what runs once starts when the store has its container's id",
			healing.Input{Task: once, Container: is(healing.Created)}, "leave it; task preparing Creating"},
		"once, another one recorded": {"and no other container's, which may have run",
			healing.Input{Task: once, Recorded: "c0", Container: is(healing.Created)}, "leave it; task failed ContainerRemoved"},
		"once, recorded": {"then it starts",
			healing.Input{Task: once, Recorded: "c1", Container: is(healing.Created)}, "start; task starting Starting"},
		"running": {"a running container is ready and left alone",
			healing.Input{Task: keep, Status: running, Container: is(healing.Running)}, "leave it; task running"},
		"held, no container": {"a successor's container may be made before",
			healing.Input{Task: keep, Held: true}, "create; task preparing Creating"},
		"held, created": {"but starts only when the predecessor has stopped",
			healing.Input{Task: keep, Held: true, Container: is(healing.Created)},
			"leave it; task preparing WaitingForPredecessor"},
		"held, stopped by hand": {"healing doesn't start it beside the predecessor either",
			healing.Input{Task: keep, Status: running, Held: true, Container: is(healing.Exited), Cause: healing.CauseHand},
			"leave it; task running WaitingForPredecessor"},
		"a plugin stopped it": {"what a plugin's command stops stays so while the command runs",
			healing.Input{Task: keep, Status: running, PluginAtWork: true, Container: is(healing.Exited),
				Cause: healing.CauseHand},
			"leave it; task running PluginAtWork"},
		"a plugin stopped it, unwatched": {"even if no event reported it",
			healing.Input{Task: keep, Status: running, PluginAtWork: true, Container: is(healing.Exited)},
			"leave it; task running PluginAtWork"},
		"a plugin removed it": {"and what it removes is not made again under its hands",
			healing.Input{Task: keep, Status: running, PluginAtWork: true, Cause: healing.CauseHand},
			"leave it; task running PluginAtWork"},
		"a plugin has ended": {"healing goes on after the command, whatever the restart policy says",
			healing.Input{Task: keep, Status: held, Container: noPolicy}, "start; task running Stopped"},
		"new under a plugin's command": {"what was never there is made: the command may wait for it",
			healing.Input{Task: keep, PluginAtWork: true}, "create; task preparing Creating"},
		"crash under a plugin's command": {"what ends by itself is not the plugin's doing",
			healing.Input{Task: keep, Status: running, PluginAtWork: true, Container: noPolicy, Cause: healing.CauseExit},
			"leave it; task complete Exited"},
		"image missing": {"an image pruned by hand is fetched again",
			healing.Input{Task: keep, Image: healing.ImageMissing}, "pull; task preparing PullingImage"},
		"a start failed once": {"it is tried again",
			healing.Input{Task: keep, Status: running, Container: is(healing.Exited),
				Cause: healing.CauseEngine, FailedStarts: 1},
			"start; task running Stopped"},
		"a start failed twice": {"the engine can't start it: another container is made in its place",
			healing.Input{Task: keep, Status: running, Container: is(healing.Exited), Cause: healing.CauseEngine,
				FailedStarts: 2, FailedSince: now.Add(-5 * time.Second)},
			"remove; task running Stopped"},
		"a start failed twice within a moment": {"an engine that has just started refuses much",
			healing.Input{Task: keep, Status: running, Container: is(healing.Exited), Cause: healing.CauseEngine,
				FailedStarts: 2, FailedSince: now.Add(-4 * time.Second)},
			"start; task running Stopped"},
		"the first start failed twice": {"a container that never ran is as good as another one",
			healing.Input{Task: keep, Container: is(healing.Created), FailedStarts: 2}, "start; task starting Starting"},
		"once, a start failed twice": {"what runs once has one container",
			healing.Input{Task: once, Recorded: "c1", Container: is(healing.Created), FailedStarts: 2},
			"start; task starting Starting"},
		"rejected": {"what the engine refuses ends the task, with its words",
			healing.Input{Task: keep, Container: is(healing.Created),
				Fault: &healing.Fault{Rejected: true, Reason: "PortTaken"}},
			"leave it; task rejected PortTaken"},
		"transient fault": {"what may work later is reported and retried by the engine",
			healing.Input{Task: keep, Fault: &healing.Fault{Reason: "EngineError"}}, "leave it; task preparing EngineError"},
		"paused": {"a person paused it, a person lets it go on",
			healing.Input{Task: keep, Status: running, Container: is(healing.Paused)}, "leave it; task running Paused"},
		"frozen, running": {"a frozen slot is stopped",
			healing.Input{Task: keep, Status: running, Frozen: true, Container: is(healing.Running)},
			"stop (grace 10s); task running Frozen"},
		"frozen, stopped": {"and stays stopped",
			healing.Input{Task: keep, Status: running, Frozen: true, Container: is(healing.Exited), Cause: healing.CauseHand},
			"leave it; task running Frozen"},
		"frozen, removed": {"nor is it made again",
			healing.Input{Task: keep, Status: running, Frozen: true}, "leave it; task running Frozen"},
		"thawed": {"a slot that was frozen starts, whatever the policy",
			healing.Input{Task: keep, Status: frozen, Container: noPolicy}, "start; task running Stopped"},
		"ended while the engine was away": {"even when the agent restarted meanwhile",
			healing.Input{Task: keep, Status: away, Container: noPolicy}, "start; task running Stopped"},
		"removing": {"one that is going is waited for",
			healing.Input{Task: keep, Status: running, Container: is(healing.Removing)},
			"leave it; task running ContainerRemoved"},
		"dead": {"what the engine could not remove is removed",
			healing.Input{Task: keep, Status: running, Container: is(healing.Dead)}, "remove; task running ContainerRemoved"},
		"shutdown, running": {"an unwanted container is stopped",
			healing.Input{Task: wanted(api.DesiredShutdown), Status: running, Container: is(healing.Running)},
			"stop (grace 10s); task running Stopping"},
		"shutdown, stopped": {"and kept for inspection",
			healing.Input{Task: wanted(api.DesiredShutdown), Status: running, Container: is(healing.Exited)},
			"leave it; task shutdown Shutdown"},
		"shutdown, nothing": {"a task that never began ends at once",
			healing.Input{Task: wanted(api.DesiredShutdown)}, "leave it; task shutdown Shutdown"},
		"removed, running": {"removal stops first, with grace",
			healing.Input{Task: wanted(api.DesiredRemoved), Status: running, Container: is(healing.Running)},
			"stop (grace 10s); task running Stopping"},
		"removed, stopped": {"then removes",
			healing.Input{Task: wanted(api.DesiredRemoved), Status: running, Container: is(healing.Exited)},
			"remove; task running Stopping"},
		"failed, started by hand": {"what has ended stays ended",
			healing.Input{Task: keep, Status: api.TaskStatus{State: api.TaskFailed}, Container: is(healing.Running)},
			"stop (grace 10s); task failed"},
		"once, stopped by hand": {"a job is never healed",
			healing.Input{Task: once, Status: running, Container: is(healing.Exited), Cause: healing.CauseHand},
			"leave it; task complete Exited"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Grace = 10 * time.Second
			if got := outcome(planRead(tc.in, now)); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestRemovedTaskIsForgotten(t *testing.T) {
	task := api.Task{ID: "t1", Desired: api.DesiredRemoved}
	d := healing.Plan(healing.Input{Task: task, Status: runningStatus(0)}, now)
	if !d.Forget || d.Action.Verb != healing.None {
		t.Errorf("a removed task without a container: forget %v, action %s", d.Forget, d.Action)
	}
}

// crash lets a container exit by itself at the given offsets and plans after each.
func crash(t *testing.T, watched bool, offsets ...time.Duration) healing.Decision {
	t.Helper()
	task := api.Task{ID: "t1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	d := healing.Decision{Status: runningStatus(0)}
	for i, offset := range offsets {
		c := &healing.Container{
			ID: "c1", State: healing.Restarting, Restart: "unless-stopped", RestartCount: i + 1, ExitCode: 3,
			CreatedAt: start, StartedAt: start.Add(offset - time.Millisecond), FinishedAt: start.Add(offset),
		}
		d = planRead(healing.Input{Task: task, Status: d.Status, Container: c, Watched: watched}, start.Add(offset), "boom")
	}
	return d
}

func TestCrashLoop(t *testing.T) {
	d := crash(t, true, 0, 10*time.Second, 50*time.Second)
	if !d.Status.CrashLoop || len(d.Status.LastLog) == 0 || d.Status.State != api.TaskRunning {
		t.Fatalf("3 ends in a minute: CrashLoop %v, log %v, %s", d.Status.CrashLoop, d.Status.LastLog, d.Status.State)
	}
	if d = crash(t, true, 0, 40*time.Second, 80*time.Second); !d.Status.CrashLoop {
		t.Error("3 ends in 80 s are a loop too")
	}
	if d = crash(t, true, 0, 150*time.Second, 300*time.Second); d.Status.CrashLoop {
		t.Error("3 ends in 5 min are no loop")
	}
}

// TestASecondWriterIsNamedBeforeTheLoop: a container that keeps exiting beside another program on its volume names that
// program first: while it runs, while the engine starts it again, and when it is given up. A person can end the
// program.
func TestASecondWriterIsNamedBeforeTheLoop(t *testing.T) {
	beside := &healing.Fault{Reason: api.ReasonVolumeInUse, Message: "container db writes to the volume data too", Next: "docker stop db"}
	task := api.Task{ID: "t1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	for name, tc := range map[string]struct {
		reason string
		ends   []time.Duration
		state  healing.State
	}{
		"up":       {"it is up for a moment", []time.Duration{0, 10 * time.Second, 50 * time.Second}, healing.Running},
		"between":  {"the engine starts it again", []time.Duration{0, 10 * time.Second, 50 * time.Second}, healing.Restarting},
		"stopping": {"it is given up", []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second, 50 * time.Second}, healing.Running},
		"given up": {"it was given up", []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second, 50 * time.Second}, healing.Exited},
	} {
		before := crash(t, true, tc.ends...)
		at := start.Add(51 * time.Second)
		c := &healing.Container{ID: "c1", State: tc.state, Restart: "unless-stopped", RestartCount: len(tc.ends),
			ExitCode: 3, StartedAt: at, FinishedAt: start.Add(50 * time.Second)}
		in := healing.Input{Task: task, Status: before.Status, Container: c, Watched: true, Beside: beside}
		for _, want := range []string{api.ReasonVolumeInUse, api.ReasonCrashLoop} {
			got := planRead(in, at, "boom").Status
			if got.Reason != want || !got.CrashLoop || !strings.Contains(got.Message, "the program keeps exiting: ") {
				t.Errorf("%s: %s: %s %q, loop %v; want %s", name, tc.reason, got.Reason, got.Message, got.CrashLoop, want)
			}
			said := strings.HasPrefix(got.Message, beside.Message)
			if said != (in.Beside != nil) || (got.Next == beside.Next) != said {
				t.Errorf("%s: %s: %q, next %q", name, tc.reason, got.Message, got.Next)
			}
			in.Beside = nil
		}
	}
}

// TestCrashLoopWithoutOutput: output that the engine could not return the first time is requested again, until it is
// there.
func TestCrashLoopWithoutOutput(t *testing.T) {
	d := crash(t, true, 0, 10*time.Second, 50*time.Second)
	waiting := &healing.Container{ID: "c1", State: healing.Restarting, RestartCount: 3, ExitCode: 3,
		FinishedAt: start.Add(50 * time.Second)}
	task := api.Task{ID: "t1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	for _, lines := range [][]string{nil, {"boom"}} {
		d.Status.LastLog = lines
		again := healing.Plan(healing.Input{Task: task, Status: d.Status, Container: waiting, Watched: true},
			start.Add(51*time.Second))
		if want := lines == nil; (again.Log.End == healing.EndOfLoop) != want || !again.Status.CrashLoop {
			t.Errorf("with %d lines: requested %+v, loop %t", len(lines), again.Log, again.Status.CrashLoop)
		}
	}
}

func TestCrashLoopPasses(t *testing.T) {
	d := crash(t, true, 0, 10*time.Second, 20*time.Second)
	up := &healing.Container{ID: "c1", State: healing.Running, RestartCount: 3, StartedAt: start.Add(21 * time.Second)}
	task := api.Task{ID: "t1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	d.Status.LastLog = []string{"boom"}
	d = healing.Plan(healing.Input{Task: task, Status: d.Status, Container: up}, start.Add(2*time.Minute))
	if d.Status.CrashLoop || !d.Status.Ready || d.Status.LastLog != nil || d.Status.Reason != "" {
		t.Errorf("after a quiet minute: %+v", d.Status)
	}
}

func TestGivesUpAfterFiveEnds(t *testing.T) {
	d := crash(t, true, 0, time.Minute, 2*time.Minute, 3*time.Minute, 5*time.Minute)
	if d.Action.Verb != healing.Stop || d.Status.State != api.TaskRunning {
		t.Fatalf("5 ends in 5 min: %s", outcome(d))
	}
	stopped := &healing.Container{ID: "c1", State: healing.Exited, RestartCount: 5, ExitCode: 3,
		CreatedAt: start, StartedAt: start.Add(5 * time.Minute)}
	task := api.Task{ID: "t1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	in := healing.Input{Task: task, Status: d.Status, Container: stopped, Cause: healing.CauseHand}
	d = planRead(in, start.Add(time.Hour), "last words")
	if d.Status.State != api.TaskFailed || d.Status.Reason != api.ReasonCrashLoop || d.Status.LastLog[0] != "last words" {
		t.Errorf("once stopped the task has failed, however long stopping took: %s", outcome(d))
	}
	if !strings.HasPrefix(d.Status.Message, "the program keeps exiting: ") ||
		!strings.HasSuffix(d.Status.Message, " starts, the last ended with exit code 3") {
		t.Errorf("message %q", d.Status.Message)
	}
	d = crash(t, true, 0, time.Minute, 2*time.Minute, 3*time.Minute, 5*time.Minute+time.Second)
	if d.Action.Verb == healing.Stop {
		t.Error("5 ends in more than 5 min are borne")
	}
}

func TestUnwatchedEndsCountOnce(t *testing.T) {
	task := api.Task{ID: "t1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	c := &healing.Container{ID: "c1", State: healing.Running, RestartCount: 50, StartedAt: now, FinishedAt: ended}
	in := healing.Input{Task: task, Status: runningStatus(0), Container: c}
	if d := healing.Plan(in, now); len(d.Status.Exits) != 1 || d.Status.Incarnations != 51 {
		t.Errorf("50 ends over an unknown time: %d counted, incarnation %d", len(d.Status.Exits), d.Status.Incarnations)
	}
	in.Watched = true
	in.LastExit = &healing.Exit{Code: 7}
	d := healing.Plan(in, now)
	if len(d.Status.Exits) != 5 || d.Status.ExitCode == nil || *d.Status.ExitCode != 7 {
		t.Errorf("50 ends since the last plan: %d counted, %v", len(d.Status.Exits), d.Status.ExitCode)
	}
}

func TestUnreachableKeepsWhatWasSeen(t *testing.T) {
	status := healing.Unreachable(runningStatus(2), "no answer")
	if !status.Ready || status.State != api.TaskRunning || status.Reason != api.ReasonEngineUnavailable {
		t.Errorf("%+v", status)
	}
	ended := api.TaskStatus{State: api.TaskFailed, Reason: api.ReasonExited}
	if got := healing.Unreachable(ended, "no answer"); got.Reason != api.ReasonExited {
		t.Errorf("an end keeps its reason, got %s", got.Reason)
	}
}

// TestKilledWithoutAWord: an exit code 137 that was not requested gets a message with what is known of it; one that was
// requested or is explained does not.
func TestKilledWithoutAWord(t *testing.T) {
	for name, tc := range map[string]struct {
		cause healing.Cause
		code  int
		oom   bool
		want  string
	}{
		"unexplained":   {healing.CauseExit, 137, false, "reported no lack of memory"},
		"out of memory": {healing.CauseExit, 137, true, "the program was killed for lack of memory"},
		"unwatched":     {healing.CauseUnknown, 137, false, "ended with exit code 137"},
		"another code":  {healing.CauseExit, 3, false, "ended with exit code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healing.Input{
				Task:   api.Task{ID: "t1", Node: "n1", Class: api.ClassOnce, Desired: api.DesiredRunning},
				Status: runningStatus(0), Cause: tc.cause, Watched: true,
				Container: &healing.Container{ID: "c1", State: healing.Exited, Restart: "no", ExitCode: tc.code, OOMKilled: tc.oom,
					CreatedAt: start, StartedAt: start, FinishedAt: start.Add(time.Second)},
			}
			said := healing.Plan(in, now).Status.Message
			unexplained := strings.Contains(said, "reported no lack of memory")
			if !strings.Contains(said, tc.want) || unexplained != (name == "unexplained") {
				t.Errorf("%q, want %q", said, tc.want)
			}
		})
	}
}
