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
		"next": storefault.Late(1), "after two": storefault.Late(2), "in time": storefault.LateBy(90 * time.Second), "at once": storefault.Unanswered,
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
	l.stop()
	commits, site := 0, ""
	l.late = storefault.New(l.store, func(txn store.Txn) storefault.Fate {
		if commits++; commits == nth {
			site = txn.Site
			return fate
		}
		return storefault.Answered
	})
	l.serve()
	l.apply(mail, jobOf("mail:1"))
	l.ask(mail, "m-1")
	l.pass(time.Minute)
	l.ask(mail, "m-2")
	l.pass(5 * time.Minute)
	l.late.Flush()
	l.pass(time.Minute)
	for _, id := range []string{"m-1", "m-2"} {
		tasks := 0
		for _, task := range l.snapshot().TasksOf(mail) {
			if task.Value.Run == id {
				tasks++
			}
		}
		if run := l.run(mail, id); run.State != api.RunSucceeded || len(run.Attempts) != 1 || tasks != 1 {
			l.Errorf("commit %d (%s): run %s is %s after %d attempts, with %d tasks; want one", nth, site, id, run.State, len(run.Attempts), tasks)
		}
	}
	if got := l.agent.most.Load(); got != 1 {
		l.Errorf("commit %d (%s): %d containers ran at once", nth, site, got)
	}
	return commits >= nth
}
