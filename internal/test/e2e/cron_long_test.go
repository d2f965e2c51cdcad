//go:build integration && long

package e2e

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// A cron job that is due runs within a second; here the next full minute is awaited once.
func TestACronJobRunsWhenItIsDue(t *testing.T) {
	if left := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); left > 45*time.Second {
		t.Logf("%s until the next minute", left)
	}
	m := newMachine(t).start()
	m.declares(m.job("tick", []string{"exit", "0"},
		func(s *api.CronJobSpec) { s.Schedule, s.Timezone = "* * * * *", "Europe/Berlin" }))
	var run api.Run
	deadline := time.After(2 * time.Minute)
	for run.State != api.RunSucceeded {
		select {
		case <-deadline:
			t.Fatal("no run within two minutes")
		case <-time.After(100 * time.Millisecond):
		}
		list, err := m.client.Runs(m.Context(), client.TargetOf(m.ref("tick")))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(list.Items); n > 0 {
			run = list.Items[n-1]
		}
	}
	if run.ScheduledAt.Second() != 0 || run.Trigger != api.TriggerSchedule {
		t.Errorf("%+v", run)
	}
	t.Logf("created %s after it was due, its container started after %s",
		run.CreatedAt.Sub(run.ScheduledAt), run.StartedAt.Sub(run.ScheduledAt))
}
