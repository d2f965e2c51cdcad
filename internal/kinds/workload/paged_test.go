package workload

import (
	"os"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/notify/notifytest"
	"tend.dev/tend/internal/store/records"
)

// message is the subject of what people get for the statuses that the controller has written.
func (l *harness) message() string {
	l.Helper()
	object, pager := *l.snapshot().Object(web).Value, notifytest.New()
	for _, txn := range l.commits {
		for _, op := range txn.Do {
			if op.Key == records.StatusKey(web) && !op.Delete {
				pager.Write(object, op.Value)
			}
		}
	}
	return pager.Send()
}

// report changes the statuses of the pods of a release, as their agent would, and has the controller reconcile.
func (l *harness) report(release string, edit func(*api.TaskStatus)) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		for _, task := range l.live() {
			if was := l.snapshot().TaskStatus(task.ID); task.Release == release && was.Exists() {
				next := *was.Value
				edit(&next)
				txn.Put(records.TaskStatusKey(task.ID), next)
			}
		}
	})
	l.looks()
}

func crashes(s *api.TaskStatus) {
	s.Ready, s.CrashLoop, s.Reason, s.Message = false, true, api.ReasonCrashLoop, "the program keeps exiting"
}

// back is a pod's container that runs again.
func (l *harness) back(s *api.TaskStatus) {
	s.Ready, s.Reason, s.UnreadyAt = true, "", time.Time{}
	s.StartedAt, s.RunningAt, s.ReadyAt = l.now, l.now, l.now
}

// serves applies a spec and waits until it runs.
func (l *harness) serves(spec api.DeploymentSpec) {
	l.Helper()
	l.apply(spec)
	l.settle()
}

// begins applies a spec and goes on until pods of a release run that are not good yet.
func (l *harness) begins(spec api.DeploymentSpec) {
	l.Helper()
	l.apply(spec)
	for range 4 {
		l.looks()
		l.place()
		l.runAgent()
		l.pass(1)
	}
}

// TestWhatPeopleAreSent: a normal deploy sends nothing, from what the controller writes to the message, by the rows of
// the sink's page.
func TestWhatPeopleAreSent(t *testing.T) {
	text, err := os.ReadFile(notifytest.File)
	page := notifytest.PageOf(t, text, err)
	stopFirst := func(image string) api.DeploymentSpec {
		spec := replicas(1, image)
		spec.Strategy.Order = api.OrderStopFirst
		return spec
	}
	migrates := func(l *harness, release, image string) {
		l.does[release+"-command"] = hangs
		l.apply(released(2, image))
		l.untilHeld()
		l.pass(300_000)
		l.looks()
	}
	for name, tc := range map[string]struct {
		row  string
		when func(*harness)
		want string // the reason
	}{
		"a first deploy": {"the first pods start", func(l *harness) { l.serves(replicas(2, "web:1")) }, ""},
		"a first migration": {"the first deploy: its image is pulled or built, its migration runs",
			func(l *harness) { migrates(l, "v1", "web:1") }, ""},
		"a rollout": {"a rollout is under way, start-first or stop-first",
			func(l *harness) { l.serves(replicas(3, "web:1")); l.serves(replicas(3, "web:2")) }, ""},
		"another migration": {"a rollout is under way, start-first or stop-first",
			func(l *harness) { l.serves(released(2, "web:1")); migrates(l, "v2", "web:2") }, ""},
		"the only pod": {"the only pod of an app is replaced, and no pod is ready in between",
			func(l *harness) { l.serves(stopFirst("web:1")); l.serves(stopFirst("web:2")) }, ""},
		"a restart": {"config is set, or a restart is asked for: all pods are replaced",
			func(l *harness) { l.serves(replicas(2, "web:1")); l.stamp(api.StampRestart, "1"); l.settle() }, ""},
		"config": {"config is set, or a restart is asked for: all pods are replaced",
			func(l *harness) { l.serves(replicas(2, "web:1")); l.config("apps/prod/web/A", "1"); l.settle() }, ""},
		"superseded": {"a newer apply takes the place of one that isn't complete",
			func(l *harness) {
				l.serves(replicas(3, "web:1"))
				l.begins(replicas(3, "web:2"))
				l.serves(replicas(3, "web:3"))
			}, ""},
		"a crash": {"a pod crashes once and is back within 30 s", func(l *harness) {
			l.serves(replicas(1, "web:1"))
			l.report("v1", func(s *api.TaskStatus) {
				s.Ready, s.Steady, s.Reason, s.UnreadyAt = false, false, api.ReasonRestarting, l.now
			})
			l.pass(20_000)
			l.report("v1", l.back)
			l.settle()
		}, ""},
		"scaled to none": {"a workload is scaled to 0",
			func(l *harness) { l.serves(replicas(2, "web:1")); l.serves(replicas(0, "web:1")) }, ""},
		"stopped": {"a person stops a pod, and starts it again", func(l *harness) {
			l.serves(replicas(2, "web:1"))
			task := l.live()[0]
			l.write(func(txn *records.Txn) { txn.Put(records.FrozenKey(web, task.Slot), api.Frozen{Slot: task.Slot}) })
			l.report("v1", func(s *api.TaskStatus) {
				if s.ID == task.ID {
					s.Ready, s.Steady, s.Reason, s.UnreadyAt = false, false, api.ReasonFrozen, l.now
				}
			})
			l.settle()
			l.pass(300_000)
			l.write(func(txn *records.Txn) { txn.Delete(records.FrozenKey(web, task.Slot)) })
			l.report("v1", l.back)
			l.settle()
		}, ""},
		"a new release crashes": {"pods of a new release crash again and again", func(l *harness) {
			l.serves(replicas(3, "web:1"))
			l.begins(replicas(3, "web:2"))
			l.report("v2", crashes)
		}, "CrashLoop"},
		"an old one crashes": {"a pod that served well crashes again and again", func(l *harness) {
			l.serves(replicas(3, "web:1"))
			l.pass(3_600_000)
			l.report("v1", crashes)
		}, "CrashLoop"},
		"never ready": {"a pod isn't ready within its deadline", func(l *harness) {
			l.serves(replicas(2, "web:1"))
			l.begins(replicas(2, "web:2"))
			unready := func(s *api.TaskStatus) {
				s.Ready, s.Steady, s.Reason, s.ReadyAt = false, false, api.ReasonUnready, time.Time{}
			}
			l.report("v2", unready)
			l.pass(3_600_000)
			l.report("v2", unready)
		}, "DeadlineExceeded"},
		"a migration that fails": {"a release command fails", func(l *harness) {
			l.serves(released(2, "web:1"))
			l.does["v2-command"] = breaks
			l.serves(released(2, "web:2"))
		}, "ReleaseCommandFailed"},
		"a missing image": {"an image isn't there", func(l *harness) {
			l.serves(replicas(2, "web:1"))
			l.begins(replicas(2, "web:9"))
		}, "ImageNotFound"},
		"a rollback": {"a release is rolled back by itself", func(l *harness) {
			l.serves(replicas(3, "web:1"))
			l.fails["v2"] = true
			l.serves(replicas(3, "web:2"))
		}, "RolledBack"},
		"a node is lost": {"a node is lost", func(l *harness) {
			l.join("n2")
			l.serves(replicas(2, "web:1"))
			l.silence("n2")
			l.pass(31_000)
			l.settle()
		}, "NodeLost"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			tc.when(l)
			want := ""
			if tc.want != "" {
				want = "deployment prod/web failed: " + tc.want
			}
			got := l.message()
			if got != want {
				t.Errorf("people are sent %q, want %q", got, want)
			}
			page.Check(t, tc.row, got)
		})
	}
}
