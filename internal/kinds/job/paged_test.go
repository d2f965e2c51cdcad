package job

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/core/notify/notifytest"
)

// TestWhatPeopleAreSent: people get a message about a run that fails, and not about an attempt, from the statuses that
// the controller writes, by the rows of the sink's page.
func TestWhatPeopleAreSent(t *testing.T) {
	text, err := os.ReadFile(notifytest.File)
	page := notifytest.PageOf(t, text, err)
	for row, tc := range map[string]struct {
		recovers, stopped bool
		want              string
	}{
		"an attempt of a job fails, and the next one succeeds": {recovers: true},
		"a run of a job or a cron job failed":                  {want: "job prod/mail failed: RunFailed"},
		"a person stops a run or a lab":                        {stopped: true},
	} {
		inHarness(t, func(l *harness) {
			l.Node.Set(func(n *controltest.Node) {
				if n.Code = 7; tc.stopped {
					n.Lasts = time.Hour
				}
			})
			spec := jobOf("mail:1")
			spec.Retries = 1
			l.Put(spec, mail)
			l.ask(mail, "m-1")
			pager := notifytest.New()
			for range 60 {
				l.Pass(time.Second)
				status, err := json.Marshal(l.status(mail))
				if err != nil {
					t.Fatal(err)
				}
				pager.Write(*l.Snapshot().Object(mail).Value, status)
				if attempts := l.run(mail, "m-1").Attempts; tc.recovers && len(attempts) == 2 {
					l.Node.Set(func(n *controltest.Node) { n.Code = 0 })
				}
				if run := l.run(mail, "m-1"); tc.stopped && run.State == api.RunRunning && run.StoppedBy == "" {
					l.stop(mail, "m-1")
				}
			}
			if state := l.run(mail, "m-1").State; tc.recovers != (state == api.RunSucceeded) {
				t.Errorf("the run %s", state)
			}
			if tc.stopped {
				l.condition(mail, api.ConditionDegraded, api.ReasonStopped, api.ConditionTrue)
			}
			got := pager.Send()
			if got != tc.want {
				t.Errorf("people are sent %q, want %q", got, tc.want)
			}
			page.Check(t, row, got)
		})
	}
}
