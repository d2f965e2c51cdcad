package workload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// TestFirstReleaseWaitsForItsCommands: nothing of a release starts before its commands have succeeded, including the
// first release.
func TestFirstReleaseWaitsForItsCommands(t *testing.T) {
	l := newHarness(t)
	l.does["v1-command"] = hangs
	l.apply(released(2, "web:1"))
	l.untilHeld()
	if got := l.running(); got != "" {
		t.Errorf("%s run before the release's command has ended", got)
	}
	l.ranOnce("v1-pre v1-command")
	l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonRunningReleaseCommand,
		"release.command runs in prod-web.v1-command")
	l.is(api.ConditionReady, api.ConditionFalse, api.ReasonRunningReleaseCommand, "0 of 2")
	l.does["v1-command"] = succeeds
	l.settle()
	if got := l.running(); got != "v1 v1" {
		t.Errorf("%q run once the commands have succeeded", got)
	}
	l.is(api.ConditionReady, api.ConditionTrue, api.ReasonConverged, "2 of 2")
	l.ranOnce("v1-pre v1-command")
	if run := l.snapshot().Run(web, "v1-command").Value; run.State != api.RunSucceeded ||
		run.Trigger != api.TriggerRelease || *run.ExitCode != 0 || run.StartedAt.IsZero() {
		t.Errorf("the run is %+v", run)
	}
}

// TestFailedCommandTouchesNothing: the slots stay those that served before, the same release is not tried again, and
// the failure is reported with its last lines.
func TestFailedCommandTouchesNothing(t *testing.T) {
	l := newHarness(t)
	l.apply(released(2, "web:1"))
	l.settle()
	before := l.live()
	l.ran = nil
	l.does["v2-command"] = breaks
	l.apply(released(2, "web:2"))
	l.settle()
	l.now = l.now.Add(time.Hour)
	l.settle()
	l.ranOnce("v2-pre v2-command")
	if got := l.running(); got != "v1 v1" || l.live()[0].ID != before[0].ID || l.live()[1].ID != before[1].ID {
		t.Errorf("the slots were touched: %q", got)
	}
	l.is(api.ConditionProgressing, api.ConditionFalse, api.ReasonReleaseCommandFailed, "")
	if next := l.condition(api.ConditionDegraded).Next; !strings.Contains(next, "tend restart prod/web") {
		t.Errorf("next: %q", next)
	}
	l.is(api.ConditionDegraded, api.ConditionTrue, api.ReasonReleaseCommandFailed,
		"exit code 3\nmigrating\ntable users is locked")
	l.is(api.ConditionReady, api.ConditionFalse, api.ReasonReleaseCommandFailed, "2 of 2 replicas ready")
	controltest.Outcome(t, *l.snapshot().Object(web).Value, l.status(), api.OutcomeHeld)
	if status := l.status(); status.Release != "v1" || status.Rollout.TargetRelease != "v1" {
		t.Errorf("in force is %s, to be reached %s", status.Release, status.Rollout.TargetRelease)
	}

	more := released(3, "web:2")
	l.apply(more) // a scale runs no migration again
	l.settle()
	l.ranOnce("v2-pre v2-command")
	if got := l.running(); got != "v1 v1 v1" {
		t.Errorf("%q run: what is missing is filled by what is in force", got)
	}

	more.Release.Command = []string{"migrate", "--fixed"}
	l.apply(more)
	l.settle()
	l.ranOnce("v2-pre v2-command v3-pre v3-command")
	if got := l.running(); got != "v3 v3 v3" {
		t.Errorf("%q run after the command was corrected", got)
	}
	if reason := l.snapshot().Release(web, "v3").Value.Reason; !strings.Contains(reason, "v2-command failed") {
		t.Errorf("v3 was made because %q", reason)
	}
}

// Scaled to nothing, a workload isn't started again as it was, neither while the command of what comes next runs nor
// when that failed. What ran goes on running.
func TestNothingOldStartsBeforeACommand(t *testing.T) {
	for name, tc := range map[string]struct {
		before, asked int
		does          command
		want          string
	}{
		"from nothing": {0, 2, hangs, ""}, "from nothing, failed": {0, 2, breaks, ""},
		"from one": {1, 2, hangs, "v1"}, "from one, failed": {1, 2, breaks, "v1 v1"}, "to one": {2, 1, hangs, "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(released(2, "web:1"))
			l.settle()
			l.apply(released(tc.before, "web:1"))
			l.settle()
			l.does["v2-command"] = tc.does
			l.apply(released(tc.asked, "web:2"))
			if l.untilHeld(); l.running() != tc.want {
				t.Errorf("%q runs, want %q", l.running(), tc.want)
			}
			l.does["v2-command"] = succeeds
			if l.settle(); tc.does == hangs && l.running() != strings.TrimSpace(strings.Repeat("v2 ", tc.asked)) {
				t.Errorf("%q runs once the command has succeeded", l.running())
			}
		})
	}
}

func TestRestartTriesAFailedCommandAgain(t *testing.T) {
	l := newHarness(t)
	l.does["v1-pre"] = breaks
	l.apply(released(1, "web:1"))
	l.settle()
	l.ranOnce("v1-pre")
	l.is(api.ConditionDegraded, api.ConditionTrue, api.ReasonReleaseCommandFailed, "release.pre_command of v1 failed")
	l.stamp(api.StampRestart, "1")
	l.settle()
	l.ranOnce("v1-pre v2-pre v2-command")
	if got := l.running(); got != "v2" {
		t.Errorf("%q runs", got)
	}
}

// TestAnotherTryKnowsItsImage: a release whose command failed is asked for again, corrected, before any node has
// answered for its image. The next attempt waits for that.
func TestAnotherTryKnowsItsImage(t *testing.T) {
	l := newHarness(t)
	l.does["v1-command"] = breaks
	l.apply(released(1, "web:1"))
	l.settle()
	l.apply(released(1, "web:missing"))
	l.settle()
	corrected := released(1, "web:1")
	corrected.Release.Command = []string{"migrate", "--fixed"}
	l.apply(corrected)
	l.settle()
	if got := l.running(); got != "v2" {
		t.Errorf("%q runs", got)
	}
	if made := l.snapshot().Release(web, "v2").Value; made == nil || made.ImageID != "sha256:1" ||
		!strings.Contains(made.Reason, "v1-command failed") {
		t.Errorf("another try is %+v", made)
	}
}

// TestARestoreHoldsBackWhatMayHaveRun: commands that may have run since the backup don't run by themselves; those of a
// manifest that was corrected since do, also if its release gets the number of the one that may have run.
func TestARestoreHoldsBackWhatMayHaveRun(t *testing.T) {
	restored := api.RestoredRelease{Number: 1, Generation: 1}.String()
	l := newHarness(t)
	l.apply(released(1, "web:1"))
	l.stamp(api.StampRestored, restored)
	l.settle()
	l.ranOnce("")
	l.is(api.ConditionDegraded, api.ConditionTrue, api.ReasonReleaseCommandFailed, "restored from a backup")

	corrected := newHarness(t)
	corrected.apply(released(1, "web:1"))
	corrected.stamp(api.StampRestored, restored)
	corrected.apply(released(1, "web:2")) // before the first one had a release
	corrected.settle()
	corrected.ranOnce("v1-pre v1-command")
	if got := corrected.running(); got != "v1" {
		t.Errorf("%q runs", got)
	}

	earlier := api.Object{Metadata: api.Metadata{Stamps: map[string]string{api.StampRestored: "1"}}}
	if !earlier.RestoredRelease().Covers(api.Release{Number: 1, Generation: 7}) {
		t.Error("a stamp of an earlier version holds back nothing")
	}
}

// TestEveryReleaseIsGated: another environment, another image under the same name and a forced pull all pass the gate.
func TestEveryReleaseIsGated(t *testing.T) {
	cases := map[string]func(l *harness){
		"environment": func(l *harness) {
			l.write(func(txn *records.Txn) { txn.Put(records.ConfigAppPrefix("prod", "web")+"A", []byte("sealed:1")) })
		},
		"image": func(l *harness) { l.images["web:1"] = "sha256:moved" },
		"pull":  func(l *harness) { l.images["web:1"] = "sha256:moved"; l.stamp(api.StampPull, "1") },
		"scale": func(l *harness) { l.apply(released(3, "web:2")) },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(released(1, "web:1"))
			l.settle()
			l.does["v2-command"] = hangs
			change(l)
			l.untilHeld()
			if got := l.running(); strings.Contains(got, "v2") {
				t.Errorf("%q run before the release's command has ended", got)
			}
			l.ranOnce("v1-pre v1-command v2-pre v2-command")
			l.does["v2-command"] = succeeds
			l.settle()
			if got := l.running(); !strings.HasPrefix(got, "v2") || strings.Contains(got, "v1") {
				t.Errorf("%q run in the end", got)
			}
		})
	}
}

// TestRollbackRunsNoCommands: the commands of the earlier release ran when it was first rolled out.
func TestRollbackRunsNoCommands(t *testing.T) {
	l := newHarness(t)
	l.apply(released(1, "web:1"))
	l.settle()
	l.apply(released(1, "web:2"))
	l.settle()
	object := l.apply(released(1, "web:1"))
	l.put(stamped(object, api.StampRollback, "v1"))
	l.settle()
	l.ranOnce("v1-pre v1-command v2-pre v2-command")
	if got := l.running(); got != "v3" {
		t.Errorf("%q runs", got)
	}
	l.write(func(txn *records.Txn) { txn.Put(records.ConfigAppPrefix("prod", "web")+"A", []byte("sealed:1")) })
	l.settle()
	l.ranOnce("v1-pre v1-command v2-pre v2-command v4-pre v4-command")
}

// TestACommandIsLetFinish: a newer apply interrupts no migration. It waits, then runs its own; the older release never
// serves.
func TestACommandIsLetFinish(t *testing.T) {
	l := newHarness(t)
	l.apply(released(1, "web:1"))
	l.settle()
	l.does["v2-command"] = hangs
	l.apply(released(1, "web:2"))
	l.untilHeld()
	l.apply(released(1, "web:3"))
	l.untilHeld()
	l.ranOnce("v1-pre v1-command v2-pre v2-command")
	l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonWaitingForCommand, "v2-command")
	l.does["v2-command"] = succeeds
	l.settle()
	l.ranOnce("v1-pre v1-command v2-pre v2-command v3-pre v3-command")
	if got := l.running(); got != "v3" {
		t.Errorf("%q runs", got)
	}
	for _, task := range l.snapshot().TasksOf(web) {
		if task.Value.Release == "v2" && task.Value.Role == api.RoleMain {
			t.Error("a slot ran v2, which was superseded before its gate opened")
		}
	}
}

func TestACommandHasItsTime(t *testing.T) {
	l := newHarness(t)
	l.does["v1-pre"] = hangs
	spec := released(1, "web:1")
	spec.Release.Timeout = "30s"
	l.apply(spec)
	l.untilHeld()
	if left := l.looks().After; left <= 29*time.Second || left > 30*time.Second {
		t.Errorf("it is due again after %s", left)
	}
	l.now = l.now.Add(30 * time.Second)
	l.settle()
	run := l.snapshot().Run(web, "v1-pre").Value
	if run.State != api.RunFailed || run.Reason != api.ReasonReleaseTimeout {
		t.Errorf("the run is %s %s", run.State, run.Reason)
	}
	l.is(api.ConditionDegraded, api.ConditionTrue, api.ReasonReleaseCommandFailed, "30s")
	if c := api.FindCondition(l.status().Conditions, api.ConditionDegraded); !strings.HasPrefix(c.Next,
		"raise `release.timeout`") {
		t.Errorf("the next step is %q", c.Next)
	}
	l.ranOnce("v1-pre")
}

// TestCommandsRunOnceWhateverCrashes: the process dies before any commit or right after it, and every command still
// runs once.
func TestCommandsRunOnceWhateverCrashes(t *testing.T) {
	whole := newHarness(t)
	spec := released(2, "web:1")
	spec.Release.PostCommand, spec.PostDeploy = []string{"warm"}, []string{"echo done"}
	whole.apply(spec)
	whole.settle()
	whole.ranOnce("v1-pre v1-command v1-post v1-deploy")
	for n := range 2 * len(whole.commits) {
		l := newHarness(t)
		l.lost = n%2 == 1
		l.apply(spec)
		failing := n / 2
		l.refuse = func(store.Txn) error {
			if failing--; failing == -1 {
				return errors.New("the process died")
			}
			return nil
		}
		for range 40 { // the engine retries a reconcile that failed
			result, err := l.c.Reconcile(context.Background(), control.Key(web))
			if err != nil {
				break
			}
			l.await(result.Revision)
			l.place()
			l.runAgent()
			l.pass(1)
		}
		l.settle()
		l.ranOnce("v1-pre v1-command v1-post v1-deploy")
		if got := l.running(); got != "v1 v1" {
			t.Errorf("after a crash at commit %d: %q run", n/2, got)
		}
	}
}

// TestWhatFailsBehindAGateIsTurnedBack: a release fails while a newer one waits for its command. The pods go back to
// the good one, once, and the newer one keeps its chance.
func TestWhatFailsBehindAGateIsTurnedBack(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.settle()
	l.fails["v2"] = true
	l.apply(replicas(2, "web:2"))
	for len(l.snapshot().TasksOf(web)) == 2 { // until the first pod of v2 is there
		l.looks()
		l.runAgent()
		l.pass(1)
	}
	l.does["v3-command"] = hangs
	spec := replicas(2, "web:1")
	spec.Command = []string{"serve"}
	spec.Release = &api.ReleaseHooks{Command: []string{"migrate"}}
	l.apply(spec)
	l.untilHeld()
	if got := l.running(); got != "v1 v1" {
		t.Errorf("%q run while the command of v3 does", got)
	}
	l.ranOnce("v3-command")
	l.does["v3-command"] = succeeds
	l.settle()
	if got := l.running(); got != "v3 v3" {
		t.Errorf("%q run once the command has succeeded", got)
	}
}

// TestNoWorkloadIsCalledLikeACommand: the engine answers for the name of a container, so shop-rc.v1-command, the
// command of shop/rc, must not be the workload shop-rc of a scope v1-command.
func TestNoWorkloadIsCalledLikeACommand(t *testing.T) {
	slots := []string{"m-0a1b2c3d", "m-0a1b2c3d4e5f6071"} // asked for by hand, and with an idempotency key
	for _, role := range []api.TaskRole{api.RolePre, api.RoleCommand, api.RolePost, api.RoleDeploy} {
		slots = append(slots, runID("v17", role))
	}
	for _, slot := range slots {
		name := api.Task{Kind: api.KindDeployment, Scope: "shop", Name: "rc", Slot: slot}.ContainerName()
		workload, scope, _ := strings.Cut(name, ".")
		if names := api.ServiceNames(workload, scope); slices.Contains(names, name) {
			t.Errorf("a workload is called %v, and a pod %s", names, name)
		}
	}
}
