package job

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

func cronOf(schedule string) api.CronJobSpec {
	return api.CronJobSpec{JobSpec: jobOf("mail:1"), Schedule: schedule}
}

func (l *harness) runs(ref api.Ref) (out []api.Run) {
	for _, run := range l.Snapshot().Runs(ref) {
		out = append(out, *run.Value)
	}
	return out
}

// TestRunsBeginWithinASecond: a run is created and started within a second, also if nothing but time passes for days.
func TestRunsBeginWithinASecond(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := cronOf("7,30-32 * * * *")
		hundred := 100
		spec.SuccessfulHistoryLimit = &hundred
		l.Put(spec, backup)
		l.Pass(12 * time.Hour)
		runs := l.runs(backup)
		if len(runs) != 48 {
			t.Fatalf("%d runs in 12 hours, want 48", len(runs))
		}
		for _, run := range runs {
			if late := run.StartedAt.Sub(run.ScheduledAt); late < 0 || late > time.Second {
				t.Errorf("%s began %s late", run.ID, late)
			}
			if run.State != api.RunSucceeded || run.ID != run.ScheduledAt.UTC().Format("20060102T150405Z") {
				t.Errorf("%+v", run)
			}
		}
	})
}

func TestForbidSkipsAndTells(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts = 150 * time.Second })
		spec := cronOf("* * * * *")
		spec.ConcurrencyPolicy = api.ConcurrencyForbid
		l.Put(spec, backup)
		l.Pass(2*time.Minute + 30*time.Second)
		l.condition(backup, ConditionMissed, "Forbidden", api.ConditionTrue)
		l.Pass(28 * time.Minute)
		if l.Node.Most(backup) != 1 {
			t.Errorf("%d containers at once", l.Node.Most(backup))
		}
		if status := l.status(backup); status.Missed < 15 || status.MissedReason != "Forbidden" {
			t.Errorf("%+v", status)
		}
	})
}

func TestReplaceStopsTheOlderFirst(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts, n.Grace = time.Hour, 7*time.Second })
		spec := cronOf("*/2 * * * *")
		spec.ConcurrencyPolicy = api.ConcurrencyReplace
		l.Put(spec, backup)
		l.Pass(21 * time.Minute)
		if l.Node.Most(backup) != 1 {
			t.Errorf("%d containers at once", l.Node.Most(backup))
		}
		runs := l.runs(backup)
		if len(runs) != 2 || runs[0].State != api.RunReplaced || runs[1].State != api.RunRunning {
			t.Errorf("%+v", runs)
		}
	})
}

// TestExclusiveRuns: the tasks of runs that may not overlap say so, for the node that returns with one that was stopped
// meanwhile.
func TestExclusiveRuns(t *testing.T) {
	for policy, want := range map[string]bool{api.ConcurrencyAllow: false, api.ConcurrencyForbid: true,
		api.ConcurrencyReplace: true} {
		inHarness(t, func(l *harness) {
			spec := cronOf("* * * * *")
			spec.ConcurrencyPolicy = policy
			l.Put(spec, backup)
			l.Pass(90 * time.Second)
			tasks := l.Snapshot().TasksOf(backup)
			if len(tasks) == 0 {
				t.Fatalf("%s: no task", policy)
			}
			for _, task := range tasks {
				if task.Value.Exclusive != want {
					t.Errorf("%s: task %+v", policy, task.Value)
				}
			}
		})
	}
}

func TestAllowLetsRunsOverlap(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Lasts = 150 * time.Second })
		l.Put(cronOf("* * * * *"), backup)
		l.Pass(10 * time.Minute)
		if l.Node.Most(backup) != 3 {
			t.Errorf("%d containers at once, want 3", l.Node.Most(backup))
		}
	})
}

// TestDowntime: the newest missed due time starts a run if it isn't too late, the others are counted.
func TestDowntime(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(cronOf("*/5 * * * *"), backup)
		l.Pass(time.Minute)
		l.Stop()
		l.Pass(17 * time.Minute) // 5, 10, 15 past
		l.Serve()
		l.Pass(time.Minute)
		runs, status := l.runs(backup), l.status(backup)
		if len(runs) != 1 || status.Missed != 2 || status.MissedReason != "TooLate" ||
			runs[0].State != api.RunSucceeded {
			t.Errorf("%+v %+v", runs, status)
		}
		spec := cronOf("*/5 * * * *")
		spec.StartingDeadline = "0s"
		l.Put(spec, backup)
		l.Stop()
		l.Pass(10 * time.Minute)
		l.Serve()
		l.Pass(time.Second)
		if runs := l.runs(backup); len(runs) != 1 {
			t.Errorf("%d runs; with a deadline of 0s what was missed is let go", len(runs))
		}
		l.Pass(5 * time.Minute)
		if runs := l.runs(backup); len(runs) != 2 {
			t.Errorf("%d runs; a due time that is met runs as ever", len(runs))
		}
	})
}

func TestSuspend(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := cronOf("*/5 * * * *")
		spec.Suspend = true
		l.Put(spec, backup)
		l.Pass(12 * time.Minute)
		l.condition(backup, api.ConditionReady, api.ReasonSuspended, api.ConditionTrue)
		l.condition(backup, ConditionMissed, "Suspended", api.ConditionTrue)
		l.ask(backup, "m-1")
		l.Pass(time.Minute)
		spec.Suspend = false
		l.Put(spec, backup)
		l.Pass(90 * time.Second)
		if runs := l.runs(backup); len(runs) != 1 || runs[0].ID != "m-1" {
			t.Errorf("%+v; want the run asked for, and no catching up", runs)
		}
		l.Pass(time.Minute)
		if runs := l.runs(backup); len(runs) != 2 {
			t.Errorf("%d runs; want the next due time to run", len(runs))
		}
	})
}

// A change of the time zone alone takes effect at once.
func TestATimezoneIsEnoughOfAChange(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(cronOf("0 12 * * *"), backup)
		l.Pass(time.Second)
		before := l.status(backup).NextRun
		spec := cronOf("0 12 * * *")
		spec.Timezone = "Asia/Kathmandu"
		l.Put(spec, backup)
		l.Pass(time.Second)
		if moved := before.Sub(l.status(backup).NextRun); moved != 5*time.Hour+45*time.Minute {
			t.Errorf("the next run moved by %s", moved)
		}
	})
}

// An idle cron job causes no writes: neither a reconcile nor the pass over the view finds something to do.
func TestAnIdleCronJobIsQuiet(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(cronOf("0 0 1 1 *"), backup)
		l.Pass(time.Minute)
		before := l.View.Revision()
		l.Pass(3 * time.Hour)
		if after := l.View.Revision(); after != before {
			t.Errorf("%d commits in three idle hours", after-before)
		}
	})
}

func TestDirtyNamesWhatIsDue(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(cronOf("*/5 * * * *"), backup)
		l.Pass(time.Minute)
		l.Stop()
		c := controller(l.Deps(), Options{Kind: api.KindCronJob})
		now := time.Now()
		if keys := c.Dirty(now); len(keys) != 0 {
			t.Errorf("%v; nothing is due", keys)
		}
		if keys := c.Dirty(now.Add(10 * time.Minute)); len(keys) != 1 ||
			keys[0] != (reconciler.Key{Kind: "cronjob", Scope: "prod", Name: "backup"}) {
			t.Errorf("%v; want the one that is due", keys)
		}
	})
}

// TestAClockThatWasAheadSilencesNothing: the status holds a due time of tomorrow, and, as an older version wrote it,
// nothing of those that were passed over. Runs start again after an hour at most, and a condition says why none does
// until then.
func TestAClockThatWasAheadSilencesNothing(t *testing.T) {
	for name, upset := range map[string]func(s *api.JobStatus){
		"an older version's status": func(s *api.JobStatus) { s.Skipped = nil },
		"a restored store": func(s *api.JobStatus) {
			s.RestoredAt, s.RestoredOver = s.LastScheduled, api.TimeSpan{After: time.Now().UTC(), Before: s.LastScheduled}
		},
	} {
		t.Run(name, func(t *testing.T) { silencesNothing(t, upset) })
	}
}

func silencesNothing(t *testing.T, upset func(s *api.JobStatus)) {
	inHarness(t, func(l *harness) {
		l.Put(cronOf("*/10 * * * *"), backup)
		l.Pass(time.Minute)
		l.condition(backup, ConditionClockBehind, api.ReasonOnTime, api.ConditionFalse)
		status := l.status(backup)
		status.LastScheduled = time.Now().Add(24 * time.Hour).UTC()
		upset(&status)
		status.ObservedRevision = 0 // it is reconciled again
		l.Write(func(txn *records.Txn) { txn.Put(records.StatusKey(backup), status) })
		l.Pass(time.Minute)
		l.condition(backup, ConditionClockBehind, api.ReasonClockSetBack, api.ConditionTrue)
		l.Pass(2 * time.Hour)
		if runs := len(l.runs(backup)); runs == 0 {
			t.Error("no run began within two hours")
		}
		l.condition(backup, ConditionClockBehind, api.ReasonClockSetBack, api.ConditionTrue)
		l.Pass(24 * time.Hour)
		l.condition(backup, ConditionClockBehind, api.ReasonOnTime, api.ConditionFalse)
	})
}
