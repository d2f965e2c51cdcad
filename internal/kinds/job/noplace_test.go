package job

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestAForbiddenRunThatNoNodeTakesEnds: it has failed by the starting deadline, with the cause, and the next due time
// begins another.
func TestAForbiddenRunThatNoNodeTakesEnds(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		edit   func(*api.CronJobSpec)
		why    string
		says   string
	}{
		"no room": {"a larger machine may join in time", func(s *api.CronJobSpec) {
			s.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: "4000Gi"}}
		}, api.ReasonNoNode, "no node took it within 5m0s (starting_deadline): no node has 4000Gi of memory; n1 has 64Gi"},
		"no such runtime": {"none is there in any time", func(s *api.CronJobSpec) { s.Image = "/srv/mail" },
			api.ReasonNoRuntime,
			"no node runs plain processes, which it needs: its image is a folder (/srv/mail)"},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(l *harness) {
				spec := cronOf("*/10 * * * *")
				spec.ConcurrencyPolicy = api.ConcurrencyForbid
				c.edit(&spec)
				spec.FailedHistoryLimit = new(int)
				*spec.FailedHistoryLimit = 100
				l.Put(spec, backup)
				l.Pass(26 * time.Minute)
				runs := l.runs(backup)
				if len(runs) < 2 {
					t.Errorf("%s: %d runs began within 26 minutes", c.reason, len(runs))
				}
				for _, run := range runs {
					if run.State != api.RunFailed || run.Reason != c.why || !strings.HasPrefix(run.Message, c.says) {
						t.Errorf("%s: %+v", c.reason, run)
					}
				}
				c := api.FindCondition(l.status(backup).Conditions, api.ConditionDegraded)
				if c.Next == "" || strings.HasPrefix(c.Next, "tend logs") {
					t.Errorf("of runs that never had a container it says %q next", c.Next)
				}
				if s := l.status(backup); s.Missed > 0 || s.Active > 0 {
					t.Errorf("%d due times were missed, %d runs are on", s.Missed, s.Active)
				}
			})
		})
	}
}
