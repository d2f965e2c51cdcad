package job

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

func TestApplyingAJobRunsNothing(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(jobOf("mail:1"), mail)
		l.Pass(time.Hour)
		if tasks := l.Snapshot().Tasks(); len(tasks) > 0 {
			t.Errorf("%d tasks", len(tasks))
		}
		l.condition(mail, api.ConditionReady, api.ReasonDeclared, api.ConditionTrue)
		l.condition(mail, api.ConditionProgressing, api.ReasonComplete, api.ConditionFalse)
		l.condition(mail, ConditionActive, api.ReasonIdle, api.ConditionFalse)
	})
}

func TestARunSucceeds(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(time.Second)
		l.condition(mail, ConditionActive, api.ReasonRunning, api.ConditionTrue)
		l.Pass(10 * time.Second)
		run := l.run(mail, "m-1")
		if run.State != api.RunSucceeded || run.ExitCode == nil || *run.ExitCode != 0 || len(run.Attempts) != 1 ||
			run.Release != "v1" {
			t.Errorf("%+v", run)
		}
		if took := run.Attempts[0].FinishedAt.Sub(run.Attempts[0].StartedAt); took < 5*time.Second ||
			took > 6*time.Second {
			t.Errorf("it took %s", took)
		}
		status := l.status(mail)
		if status.LastRun != "m-1" || status.LastState != api.RunSucceeded || *status.LastExitCode != 0 ||
			status.Succeeded != 1 || status.Active != 0 {
			t.Errorf("%+v", status)
		}
		task := l.Snapshot().TasksOf(mail)[0].Value
		if task.Class != api.ClassOnce || task.Desired != api.DesiredRunning || task.Run != "m-1" {
			t.Errorf("%+v; want its container kept as it ended", task)
		}
	})
}

func TestARunFailsWithItsLastWords(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Code = 7 })
		spec := jobOf("mail:1")
		spec.Retries = 2
		l.Put(spec, mail)
		l.ask(mail, "m-1")
		l.Pass(time.Minute)
		run := l.run(mail, "m-1")
		if run.State != api.RunFailed || *run.ExitCode != 7 || len(run.Attempts) != 3 || run.Reason != "Exited" ||
			!strings.Contains(run.Message, "attempt 3") {
			t.Errorf("%+v", run)
		}
		if diff := cmp.Diff([]string{"no route to host"}, run.LastLog); diff != "" {
			t.Error(diff)
		}
		rest := run.Attempts[2].StartedAt.Sub(run.Attempts[1].FinishedAt)
		if rest < 2*time.Second || rest > 3*time.Second {
			t.Errorf("the second rest took %s", rest)
		}
		l.condition(mail, api.ConditionDegraded, api.ReasonRunFailed, api.ConditionTrue)
		l.condition(mail, api.ConditionReady, api.ReasonDeclared, api.ConditionTrue)
		l.Node.Set(func(n *controltest.Node) { n.Code = 0 })
		l.ask(mail, "m-2")
		l.Pass(time.Minute)
		l.condition(mail, api.ConditionDegraded, api.ReasonAsExpected, api.ConditionFalse)
	})
}

func TestAnAttemptIsStoppedInTime(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts, n.Grace = time.Hour, 3*time.Second })
		spec := jobOf("mail:1")
		spec.Timeout = "30s"
		l.Put(spec, mail)
		l.ask(mail, "m-1")
		l.Pass(32 * time.Second)
		if state := l.run(mail, "m-1").State; state != api.RunRunning {
			t.Errorf("%s while the container still stops", state)
		}
		l.Pass(3 * time.Second)
		run := l.run(mail, "m-1")
		if run.State != api.RunFailed || run.Reason != "TimedOut" ||
			run.FinishedAt.Sub(run.StartedAt) > 34*time.Second {
			t.Errorf("%+v", run)
		}
	})
}

// TestAnExitBeforeTheStopCounts: the container exits in time, and its node can't say so before the time limit stops it.
func TestAnExitBeforeTheStopCounts(t *testing.T) {
	for code, want := range map[int]struct {
		state  api.RunState
		reason string
	}{0: {state: api.RunSucceeded}, 7: {api.RunFailed, api.ReasonExited}} {
		inHarness(t, func(l *harness) {
			l.Node.Set(func(n *controltest.Node) { n.Lasts, n.Code = 20*time.Second, code })
			spec := jobOf("mail:1")
			spec.Timeout = "30s"
			l.Put(spec, mail)
			l.ask(mail, "m-1")
			l.Pass(10 * time.Second)
			l.Node.Set(func(n *controltest.Node) { n.Cut = true })
			l.Pass(30 * time.Second)
			l.Node.Set(func(n *controltest.Node) { n.Cut = false })
			l.Pass(5 * time.Second)
			run, task := l.run(mail, "m-1"), l.Snapshot().TasksOf(mail)[0].Value
			if task.Reason != api.ReasonTimedOut {
				t.Fatalf("the task's stop was not requested: %+v", task)
			}
			if run.State != want.state || run.Reason != want.reason || run.ExitCode == nil || *run.ExitCode != code ||
				run.Attempts[0].Reason != want.reason {
				t.Errorf("it exited with %d: %+v; want %+v", code, run, want)
			}
		})
	}
}

// TestARunOfADeployersJobIsConfined: its release says so.
func TestARunOfADeployersJobIsConfined(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(jobOf("mail:1"), mail)
		object := *l.Snapshot().Object(mail).Value
		object.Metadata.Stamps = map[string]string{api.StampConfined: "true"}
		l.Write(func(txn *records.Txn) { txn.Put(records.ObjectKey(mail), object) })
		l.ask(mail, "m-1")
		l.Pass(20 * time.Second)
		if release := l.Snapshot().Release(mail, l.run(mail, "m-1").Release); !release.Exists() ||
			!release.Value.Confined {
			t.Errorf("%+v", release.Value)
		}
	})
}

func TestAReleaseIsMintedWhenSomethingChanged(t *testing.T) {
	inHarness(t, func(l *harness) {
		release := func(id string) string {
			t.Helper()
			l.ask(mail, id)
			l.Pass(20 * time.Second)
			return l.run(mail, id).Release
		}
		l.Put(jobOf("mail:1"), mail)
		for _, step := range []struct {
			change func()
			want   string
			reason string
		}{
			{func() {}, "v1", "the first"},
			{func() {}, "v1", "nothing changed"},
			{func() { l.Put(jobOf("mail:2"), mail) }, "v2", "another image"},
			{func() { l.Node.Set(func(n *controltest.Node) { n.Images["mail:2"] = "sha256:22" }) }, "v3",
				"the tag names another image"},
			{func() {
				l.Write(func(txn *records.Txn) {
					txn.Put(records.ConfigAppPrefix("prod", "mail")+"A",
						[]byte("sealed:1"))
				})
			}, "v4", "a config value"},
			{func() { spec := jobOf("mail:2"); spec.Retries, spec.Timeout = 3, "1m"; l.Put(spec, mail) }, "v4",
				"no container is another by that"},
		} {
			step.change()
			l.Pass(time.Second)
			if got := release("m-" + step.reason); got != step.want {
				t.Errorf("%s: %s, want %s", step.reason, got, step.want)
			}
		}
		stored := l.Snapshot().Release(mail, "v4").Value
		if !strings.Contains(string(stored.Env), `{"A":"1"}`) || stored.ImageID != "sha256:22" {
			t.Errorf("%+v", stored)
		}
		if n := len(l.Snapshot().Releases(mail)); n != 2 { // v3 and v4: the releases of the three runs that are kept
			t.Errorf("%d releases are kept", n)
		}
	})
}

func TestHistoryIsPruned(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := jobOf("mail:1")
		two, none := 2, 0
		spec.SuccessfulHistoryLimit, spec.FailedHistoryLimit = &two, &none
		l.Put(spec, mail)
		for _, id := range []string{"m-1", "m-2", "m-3"} {
			l.ask(mail, id)
			l.Pass(20 * time.Second)
		}
		l.Node.Set(func(n *controltest.Node) { n.Code = 7 })
		l.ask(mail, "m-4")
		l.Pass(7 * time.Second)
		if run := l.run(mail, "m-4"); run.State != api.RunFailed {
			t.Errorf("%s; want a failed run to be seen for a moment", run.State)
		}
		l.Pass(time.Minute)
		var ids []string
		for _, run := range l.Snapshot().Runs(mail) {
			ids = append(ids, run.Value.ID)
		}
		if diff := cmp.Diff([]string{"m-2", "m-3"}, ids); diff != "" {
			t.Error(diff)
		}
		if n := len(l.Snapshot().Tasks()); n != 2 {
			t.Errorf("%d tasks are left of 2 runs", n)
		}
		slots := 0
		for range l.Snapshot().Prefix(records.SlotsPrefix) {
			slots++
		}
		if slots != 2 {
			t.Errorf("%d slots are left of 2 tasks", slots)
		}
	})
}

func TestARunWithoutImageFails(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(jobOf("mail:9"), mail)
		l.Pass(time.Second)
		l.condition(mail, api.ConditionReady, "ImageNotFound", api.ConditionFalse)
		l.condition(mail, api.ConditionProgressing, "ImageNotFound", api.ConditionFalse)
		l.ask(mail, "m-1")
		l.Pass(time.Second)
		if run := l.run(mail, "m-1"); run.State != api.RunFailed || run.Reason != "ImageNotFound" ||
			len(run.Attempts) != 0 {
			t.Errorf("%+v", run)
		}
		l.Node.SetQuietly(func(n *controltest.Node) { n.Images["mail:9"] = "sha256:9" }) // it was pushed meanwhile; the node was not notified
		l.Pass(time.Minute)
		l.ask(mail, "m-2")
		l.Pass(time.Minute)
		if run := l.run(mail, "m-2"); run.State != api.RunSucceeded {
			t.Errorf("%+v; want the image looked up again", run)
		}
	})
}

func TestADeletedJobStopsItsRuns(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts, n.Grace = time.Hour, 5*time.Second })
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(10 * time.Second)
		l.Delete(mail)
		l.Pass(3 * time.Second)
		if !l.Snapshot().Object(mail).Exists() {
			t.Error("it went before its container had stopped")
		}
		l.Pass(time.Minute)
		for _, prefix := range []string{"/desired/", "/status/", "/runs/", "/tasks/", "/slots/", "/releases/",
			"/images/", "/names/", "/actual/tasks/"} {
			for record := range l.Snapshot().Prefix(prefix) {
				t.Errorf("%s is left", record.Key)
			}
		}
	})
}

// A crash between any two commits is like a restart on the stored state.
func TestARunGoesOnAfterACrash(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(time.Second)
		l.Stop()
		l.ask(mail, "m-2") // requested at another server, for example
		l.Pass(time.Minute)
		if l.run(mail, "m-1").State != api.RunRunning {
			t.Fatal("its end could not have been seen")
		}
		l.Serve()
		l.Pass(time.Minute)
		for _, id := range []string{"m-1", "m-2"} {
			if run := l.run(mail, id); run.State != api.RunSucceeded || len(run.Attempts) != 1 {
				t.Errorf("%s: %+v", id, run)
			}
		}
	})
}

func TestARunFailsWithItsNode(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts = time.Hour })
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(10 * time.Second)
		l.Node.Set(func(n *controltest.Node) { n.Cut = true })
		l.SetNode("n1", false)
		l.Pass(29 * time.Second)
		if state := l.run(mail, "m-1").State; state != api.RunRunning {
			t.Errorf("%s; want patience", state)
		}
		l.Pass(2 * time.Second)
		if run := l.run(mail, "m-1"); run.State != api.RunFailed || run.Reason != "NodeLost" {
			t.Errorf("%+v", run)
		}
		l.Node.Set(func(n *controltest.Node) { n.Cut = false })
		l.SetNode("n1", true)
		l.Pass(time.Second)
		status := l.Snapshot().TaskStatus(l.run(mail, "m-1").Attempts[0].Task).Value
		if status.State != api.TaskShutdown {
			t.Errorf("%s; want it stopped when its node returns", status.State)
		}
	})
}

// TestARunThatEndedOnALostNode: what the node reports when it is back says how the run ended, be it a success or a
// failure.
func TestARunThatEndedOnALostNode(t *testing.T) {
	for code, want := range map[int]api.RunState{0: api.RunSucceeded, 7: api.RunFailed} {
		inHarness(t, func(l *harness) {
			l.Node.Set(func(n *controltest.Node) { n.Lasts, n.Code = 20*time.Second, code })
			l.Put(jobOf("mail:1"), mail)
			l.ask(mail, "m-1")
			l.Pass(10 * time.Second)
			l.Node.Set(func(n *controltest.Node) { n.Cut = true })
			l.SetNode("n1", false)
			l.Pass(time.Minute)
			if run := l.run(mail, "m-1"); run.State != api.RunFailed || run.Reason != api.ReasonNodeLost {
				t.Errorf("while nobody knows: %+v", run)
			}
			l.Node.Set(func(n *controltest.Node) { n.Cut = false })
			l.SetNode("n1", true)
			l.Pass(time.Minute)
			run := l.run(mail, "m-1")
			if run.State != want || run.Reason == api.ReasonNodeLost || len(run.Attempts) != 1 ||
				l.Node.Made(mail) != 1 {
				t.Fatalf("once its node is back: %+v", run)
			}
			attempt := run.Attempts[0]
			if attempt.ExitCode == nil || *attempt.ExitCode != code ||
				attempt.FinishedAt.Sub(attempt.StartedAt).Round(time.Second) != 20*time.Second {
				t.Errorf("the attempt: %+v", attempt)
			}
			if !run.FinishedAt.Equal(attempt.FinishedAt) {
				t.Errorf("it ended at %s, its attempt at %s", run.FinishedAt, attempt.FinishedAt)
			}
			if status := l.status(mail); status.LastState != want {
				t.Errorf("the job says %s", status.LastState)
			}
		})
	}
}

// TestALapseCountsFromItsOwnBegin: a heartbeat between two lapses counts, even if no reconcile came between them.
// Changes of the wall clock don't count.
func TestALapseCountsFromItsOwnBegin(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts = time.Hour })
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(time.Second)
		liveness := owner.NewLiveness(0, 0, nil)
		c := controller(l.Deps(), Options{Kind: api.KindJob, Liveness: liveness})
		l.OnChange(liveness.Notice)
		l.SetNode("n1", false)
		if dirty := c.Dirty(time.Now()); len(dirty) > 0 {
			t.Fatalf("%v has something to do", dirty)
		}
		l.Pass(20 * time.Second)
		l.SetNode("n1", true)
		l.SetNode("n1", false)
		l.Pass(20 * time.Second)
		if dirty := c.Dirty(time.Now().Add(9 * time.Hour)); len(dirty) > 0 {
			t.Error("the node is taken for lost, though its heartbeat went missing only now")
		}
		l.SetNode("n1", true)
	})
}

// TestAHeartbeatOnTheWayKeepsTheRun: a lagging view decides that a run is lost, but the node has sent a heartbeat
// since.
func TestAHeartbeatOnTheWayKeepsTheRun(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts = time.Hour })
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(time.Second)
		l.Stop()
		l.SetNode("n1", false)
		deps, lags := l.Deps(), l.Snapshot()
		deps.Snapshot = func() records.Snapshot { return lags }
		c := controller(deps, Options{Kind: api.KindJob})
		c.Dirty(time.Now())
		l.Pass(time.Minute)
		l.SetNode("n1", true)
		if _, err := c.Reconcile(context.Background(), reconciler.Key{Kind: "job", Scope: mail.Scope,
			Name: mail.Name}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%v; want a conflict", err)
		}
		if state := l.run(mail, "m-1").State; state != api.RunRunning {
			t.Errorf("the run is %s, though its node is there", state)
		}
	})
}

func TestAnUnreadableManifestIsReported(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(json.RawMessage(`{"image":"mail:1","schedule":"every now and then"}`), backup)
		l.Pass(time.Minute)
		l.condition(backup, api.ConditionReady, api.ReasonInvalidSpec, api.ConditionFalse)
		l.condition(backup, api.ConditionDegraded, api.ReasonInvalidSpec, api.ConditionTrue)
	})
}

// A run waits for what the job depends on, and starts on the event that it is ready.
func TestARunWaitsForWhatItDependsOn(t *testing.T) {
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	inHarness(t, func(l *harness) {
		spec := jobOf("mail:1")
		spec.DependsOn = &api.DependsOn{Workloads: []string{"deployment/web"}}
		l.Put(spec, mail)
		l.ask(mail, "m-1")
		l.Pass(5 * time.Second)
		if state := l.run(mail, "m-1").State; state != api.RunPending {
			t.Errorf("%s before there is a deployment", state)
		}
		l.condition(mail, ConditionActive, api.ReasonWaiting, api.ConditionTrue)
		l.Put(api.DeploymentSpec{}, web)
		l.Write(func(txn *records.Txn) {
			txn.Put(records.StatusKey(web), api.WorkloadStatus{
				ObservedRevision: l.Snapshot().Object(web).Modified,
				Conditions:       []api.Condition{{Type: api.ConditionReady, Status: api.ConditionTrue}},
			})
		})
		l.Pass(time.Second)
		if state := l.run(mail, "m-1").State; state != api.RunRunning {
			t.Errorf("%s although it is ready", state)
		}
	})
}

// TestAJobThatRanRestsOverReports: what nodes report costs it nothing, until one has no engine that could take its next
// run.
func TestAJobThatRanRestsOverReports(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(time.Minute)
		l.RestsOverReports(Kind(l.Deps(), Options{Kind: mail.Kind}))
	})
}

// TestADeletedJobPassesANodeThatIsOff: what is left there is a leftover, which the node clears when it answers.
func TestADeletedJobPassesANodeThatIsOff(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts = time.Hour })
		l.Put(jobOf("mail:1"), mail)
		l.ask(mail, "m-1")
		l.Pass(10 * time.Second)
		l.Node.Set(func(n *controltest.Node) { n.Cut = true })
		l.SetNode("n1", false)
		l.Pass(time.Minute)
		l.Delete(mail)
		l.Pass(time.Minute)
		if !l.Snapshot().Object(mail).Exists() {
			t.Fatal("it doesn't wait for a run that may go on")
		}
		l.ConfirmDown("n1")
		l.Pass(time.Second)
		if left := l.Snapshot().LeftoversOf(mail); l.Snapshot().Object(mail).Exists() || len(left) != 1 {
			t.Errorf("%+v; leftovers %v", l.Snapshot().Object(mail).Value, left)
		}
	})
}
