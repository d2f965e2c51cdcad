package job

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/store/records"
)

// TestEachReleaseRunsOnce: a job that runs by itself does so when it is declared and when it changes, and not again.
func TestEachReleaseRunsOnce(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := jobOf("mail:1")
		spec.RunOnRelease = true
		l.Put(spec, mail)
		l.Pass(2 * time.Second)
		l.condition(mail, api.ConditionProgressing, api.ReasonRunning, api.ConditionTrue)
		l.Pass(time.Hour)
		if run := l.run(mail, "v1-run"); run.State != api.RunSucceeded || run.Trigger != api.TriggerDeclared ||
			run.Release != "v1" {
			t.Errorf("%+v", run)
		}
		l.condition(mail, api.ConditionProgressing, api.ReasonComplete, api.ConditionFalse)
		l.condition(mail, api.ConditionReady, api.ReasonRunSucceeded, api.ConditionTrue)
		spec.SuccessfulHistoryLimit = new(int) // the record of a run goes; that it ran is known by its release
		l.Put(spec, mail)
		l.Pass(time.Hour)
		if runs := l.Snapshot().Runs(mail); len(runs) != 0 {
			t.Errorf("%d runs; want none that is kept, and no second one", len(runs))
		}
		spec.SuccessfulHistoryLimit = nil
		spec.Command = []string{"two"}
		l.Put(spec, mail)
		l.Stop() // a server that is killed meanwhile
		l.Pass(time.Minute)
		l.Serve()
		l.Pass(time.Minute)
		if run := l.run(mail, "v2-run"); run.State != api.RunSucceeded || len(run.Attempts) != 1 {
			t.Errorf("%+v", run)
		}
	})
}

// TestAReleaseThatFailedSaysSo: also if no failed run is kept.
func TestAReleaseThatFailedSaysSo(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := jobOf("mail:1")
		spec.RunOnRelease, spec.FailedHistoryLimit = true, new(int)
		l.Put(spec, mail)
		l.Pass(time.Minute)
		l.Node.Set(func(n *controltest.Node) { n.Code = 7 })
		spec.Command = []string{"two"}
		l.Put(spec, mail)
		l.Pass(time.Hour)
		l.condition(mail, api.ConditionDegraded, api.ReasonRunFailed, api.ConditionTrue)
		l.condition(mail, api.ConditionReady, api.ReasonDeclared, api.ConditionTrue)
		l.Node.Set(func(n *controltest.Node) { n.Code = 0 })
		l.ask(mail, "m-1")
		l.Pass(time.Hour)
		l.condition(mail, api.ConditionDegraded, api.ReasonAsExpected, api.ConditionFalse)
		if runs := l.Snapshot().Runs(mail); len(runs) != 2 {
			t.Errorf("%d runs are kept, want v1's and the last", len(runs))
		}
	})
}

// TestDependantsWaitForTheRun: what depends on the job waits for the run of its newest manifest, also while the image
// of that isn't known yet.
func TestDependantsWaitForTheRun(t *testing.T) {
	inHarness(t, func(l *harness) {
		state := func() string {
			answer := control.Dependencies(l.Snapshot())(mail)
			if answer.Ready {
				return "ready"
			}
			return answer.Why
		}
		spec := jobOf("mail:1")
		spec.RunOnRelease = true
		l.Put(spec, mail)
		l.Pass(time.Second)
		if got := state(); !strings.Contains(got, "v1-run: running") {
			t.Errorf("while it runs: %s", got)
		}
		l.Pass(time.Minute)
		if got := state(); got != "ready" {
			t.Errorf("after its run: %s", got)
		}
		spec.Image = "mail:missing"
		l.Put(spec, mail)
		for range 20 {
			if got := state(); got == "ready" {
				t.Fatal("ready, though its newest manifest never ran")
			}
			l.Pass(100 * time.Millisecond)
		}
		spec.Image = "mail:2"
		l.Put(spec, mail)
		l.Pass(time.Minute)
		if got, run := state(), l.run(mail, "v2-run"); got != "ready" || run.State != api.RunSucceeded {
			t.Errorf("%s after %+v", got, run)
		}
	})
}

// TestARunThatFailedStays: a failure is not repeated by itself, and a run by hand makes up for it.
func TestARunThatFailedStays(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Code = 7 })
		spec := jobOf("mail:1")
		spec.RunOnRelease = true
		l.Put(spec, mail)
		l.Pass(time.Hour)
		if runs := l.Snapshot().Runs(mail); len(runs) != 1 || runs[0].Value.State != api.RunFailed {
			t.Errorf("%d runs", len(runs))
		}
		l.condition(mail, api.ConditionDegraded, api.ReasonRunFailed, api.ConditionTrue)
		l.condition(mail, api.ConditionReady, api.ReasonDeclared, api.ConditionTrue)
		l.Node.Set(func(n *controltest.Node) { n.Code = 0 })
		l.ask(mail, "m-1")
		l.Pass(time.Minute)
		if answer := control.Dependencies(l.Snapshot())(mail); !answer.Ready {
			t.Errorf("after a run by hand: %s", answer.Why)
		}
	})
}

// TestARunWaitsBeforeItBegins: a release whose dependency isn't ready has no run yet, and says for what it waits.
func TestARunWaitsBeforeItBegins(t *testing.T) {
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	inHarness(t, func(l *harness) {
		spec := jobOf("mail:1")
		spec.RunOnRelease = true
		spec.DependsOn = &api.DependsOn{Workloads: []string{"deployment/web"}}
		l.Put(spec, mail)
		l.Pass(5 * time.Second)
		if runs := l.Snapshot().Runs(mail); len(runs) != 0 {
			t.Errorf("%d runs before there is a deployment", len(runs))
		}
		l.condition(mail, api.ConditionProgressing, api.ReasonWaitingForDependency, api.ConditionTrue)
		l.Put(api.DeploymentSpec{}, web)
		l.Write(func(txn *records.Txn) {
			txn.Put(records.StatusKey(web), api.WorkloadStatus{
				ObservedRevision: l.Snapshot().Object(web).Modified,
				Conditions:       []api.Condition{{Type: api.ConditionReady, Status: api.ConditionTrue}},
			})
		})
		l.Pass(time.Minute)
		if state := l.run(mail, "v1-run").State; state != api.RunSucceeded {
			t.Errorf("%s although it is ready", state)
		}
	})
}
