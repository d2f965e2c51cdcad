package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestPostCommands: the commands run once the rollout is complete, in order, and a failure changes nothing.
func TestPostCommands(t *testing.T) {
	l := newHarness(t)
	spec := replicas(1, "web:1")
	spec.Release = &api.ReleaseHooks{PostCommand: []string{"warm"}}
	spec.PostDeploy = []string{"echo done"}
	l.does["v1-post"] = breaks
	l.apply(spec)
	l.settle()
	l.ranOnce("v1-post v1-deploy")
	l.is(api.ConditionReady, api.ConditionTrue, api.ReasonConverged, "")
	l.apply(replicas(2, "web:1"))
	l.settle()
	l.ranOnce("v1-post v1-deploy")
	if run := l.snapshot().Run(web, "v1-post").Value; run.State != api.RunFailed || len(run.LastLog) != 2 {
		t.Errorf("the run is %+v", run)
	}
}

// TestRunsGoWithTheirRelease: the remains of a command are removed with the release it belongs to, containers first.
func TestRunsGoWithTheirRelease(t *testing.T) {
	l := newHarness(t)
	two := 2
	for _, image := range []string{"web:1", "web:2", "web:3"} {
		spec := released(1, image)
		spec.KeepReleases = &two
		l.apply(spec)
		l.settle()
	}
	var runs []string
	for _, run := range l.snapshot().Runs(web) {
		runs = append(runs, run.Value.ID)
	}
	if got := strings.Join(runs, " "); got != "v2-pre v2-command v3-pre v3-command" {
		t.Errorf("kept are %q", got)
	}
	for _, task := range l.snapshot().TasksOf(web) {
		if task.Value.Release == "v1" {
			t.Errorf("task %s of v1 is left", task.Value.Slot)
		}
	}
	l.delete()
	l.settle()
	for _, prefix := range []string{records.RunsPrefix, records.TasksPrefix, records.SlotsPrefix,
		records.DeliveriesPrefix, records.DesiredPrefix} {
		for record := range l.snapshot().Prefix(prefix) {
			t.Errorf("%s is left behind", record.Key)
		}
	}
}

// TestFailedReleaseIsRemembered: even with a single release to keep, a failed one is not forgotten and tried again.
func TestFailedReleaseIsRemembered(t *testing.T) {
	l := newHarness(t)
	one := 1
	spec := released(1, "web:1")
	spec.KeepReleases = &one
	l.apply(spec)
	l.settle()
	spec.Image = "web:2"
	l.does["v2-pre"] = breaks
	l.apply(spec)
	l.settle()
	l.settle()
	l.ranOnce("v1-pre v1-command v2-pre")
}

// TestACommandOfAnOldReleaseIsLost: its node is lost in the step in which its release stops being kept.
func TestACommandOfAnOldReleaseIsLost(t *testing.T) {
	l := newHarness(t)
	l.join("n2")
	one := 1
	spec := released(1, "web:1")
	spec.KeepReleases = &one
	l.apply(spec)
	l.settle()
	for _, image := range []string{"web:2", "web:3"} {
		l.does["v2-pre"] = hangs
		spec.Image = image
		l.apply(spec)
		for range 5 {
			l.looks()
			l.place()
			l.runAgent()
		}
	}
	lost := slices.IndexFunc(l.live(), func(task api.Task) bool { return task.Slot == "v2-pre" })
	if lost < 0 {
		t.Fatalf("the command doesn't run: %v", l.ran)
	}
	l.silence(l.live()[lost].Node)
	l.now = l.now.Add(time.Minute)
	l.settle()
	if !slices.Contains(l.ran, "v3-command") {
		t.Errorf("the commands that ran are %v", l.ran)
	}
}

// TestARunAskedForByHand: it runs the command of the release in force, beside the slots, which it doesn't touch, one at
// a time.
func TestARunAskedForByHand(t *testing.T) {
	l := newHarness(t)
	l.apply(released(1, "web:1"))
	l.settle()
	before := l.live()[0].ID
	for _, id := range []string{"v1-m-00000001", "v1-m-00000002"} {
		l.does[id] = hangs
		l.write(func(txn *records.Txn) {
			txn.Put(records.RunKey(web, id), api.Run{
				ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Trigger: api.TriggerManual, Release: "v1",
				CreatedAt: l.now, State: api.RunPending,
			})
		})
	}
	l.untilHeld()
	l.ranOnce("v1-pre v1-command v1-m-00000001")
	l.is(api.ConditionReady, api.ConditionTrue, api.ReasonConverged, "")
	l.apply(released(1, "web:2"))
	l.untilHeld()
	l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonWaitingForCommand, "v1-m-00000001")
	if got := l.live()[0].ID; got != before {
		t.Error("a run by hand touched a slot")
	}
	l.does["v1-m-00000001"], l.does["v1-m-00000002"] = breaks, succeeds
	l.settle()
	if got := l.running(); got != "v2" {
		t.Errorf("%q runs", got)
	}
	for id, want := range map[string]api.RunState{"v1-m-00000001": api.RunFailed, "v1-m-00000002": api.RunSucceeded} {
		if run := l.snapshot().Run(web, id).Value; run == nil || run.State != want {
			t.Errorf("%s is %+v, want %s", id, run, want)
		}
	}
}

// TestRunsAskedForDontPileUp: of the ended runs the newest are kept; the others leave neither record nor container.
func TestRunsAskedForDontPileUp(t *testing.T) {
	l := newHarness(t)
	l.apply(released(1, "web:1"))
	l.settle()
	for i := range keptAsked + 3 {
		id := fmt.Sprintf("v1-m-0000000%d", i)
		l.write(func(txn *records.Txn) {
			txn.Put(records.RunKey(web, id), api.Run{
				ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Trigger: api.TriggerManual, Release: "v1",
				CreatedAt: l.now, State: api.RunPending,
			})
		})
		l.settle()
		l.now = l.now.Add(time.Minute)
	}
	var runs, pods []string
	for _, run := range l.snapshot().Runs(web) {
		runs = append(runs, run.Value.ID)
	}
	for _, task := range l.snapshot().TasksOf(web) {
		if task.Value.Run != "" {
			pods = append(pods, task.Value.Slot)
		}
	}
	slices.Sort(runs)
	slices.Sort(pods)
	want := "v1-command v1-m-00000003 v1-m-00000004 v1-m-00000005 v1-m-00000006 v1-m-00000007 v1-pre"
	if got := strings.Join(runs, " "); got != want || !slices.Equal(runs, pods) {
		t.Errorf("kept are the runs %q and the containers %q, want %q", runs, pods, want)
	}
}
