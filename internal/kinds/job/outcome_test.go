package job

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storefault"
)

// TestLateCommitsRunNothingTwice: any one commit of the controllers gets no answer, and is applied after a later one,
// or after a time, when its writer has long retried.
func TestLateCommitsRunNothingTwice(t *testing.T) {
	for name, fate := range map[string]storefault.Fate{
		"next": storefault.Late(1), "after two": storefault.Late(2), "in time": storefault.LateBy(90 * time.Second),
		"at once": storefault.Unanswered,
	} {
		t.Run(name, func(t *testing.T) {
			for nth, more := 1, true; more && !t.Failed(); nth++ {
				inHarness(t, func(l *harness) { more = l.runsOnce(nth, fate) })
			}
		})
	}
}

// runsOnce runs a job with a fate for the nth commit of its controllers. It reports whether there was one.
func (l *harness) runsOnce(nth int, fate storefault.Fate) bool {
	l.Stop()
	commits, site := 0, ""
	late := storefault.New(l.Store, func(txn store.Txn) storefault.Fate {
		if commits++; commits == nth {
			site = txn.Site
			return fate
		}
		return storefault.Answered
	})
	l.Commits = late
	l.Serve()
	l.Put(jobOf("mail:1"), mail)
	l.ask(mail, "m-1")
	l.Pass(time.Minute)
	l.ask(mail, "m-2")
	l.Pass(5 * time.Minute)
	late.Flush()
	l.Pass(time.Minute)
	for _, id := range []string{"m-1", "m-2"} {
		tasks := 0
		for _, task := range l.Snapshot().TasksOf(mail) {
			if task.Value.Run == id {
				tasks++
			}
		}
		if run := l.run(mail, id); run.State != api.RunSucceeded || len(run.Attempts) != 1 || tasks != 1 {
			l.Errorf("commit %d (%s): run %s is %s after %d attempts, with %d tasks; want one", nth, site, id,
				run.State, len(run.Attempts), tasks)
		}
	}
	if got := l.Node.Most(mail); got != 1 {
		l.Errorf("commit %d (%s): %d containers ran at once", nth, site, got)
	}
	return commits >= nth
}
