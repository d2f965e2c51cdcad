package job

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
)

// TestWhatAnApplyPrints: of a job that runs each of its releases, what became of the run; any other is only stored,
// once a run of it could begin.
func TestWhatAnApplyPrints(t *testing.T) {
	jobs := func(edit func(*api.JobSpec)) api.JobSpec {
		spec := jobOf("mail:1")
		spec.RunOnRelease = true
		if edit != nil {
			edit(&spec)
		}
		return spec
	}
	unknown := func(s *api.JobSpec) { s.Image = "mail:9" }
	waits := func(s *api.JobSpec) { s.DependsOn = &api.DependsOn{Workloads: []string{"deployment/web"}} }
	lacks := func(s *api.JobSpec) { s.Env = map[string]string{"API": "${ref.deployment.api.host}"} }
	for name, c := range map[string]struct {
		spec  any
		code  int
		after time.Duration
		want  api.OutcomeState
	}{
		"it runs":                {jobs(nil), 0, 2 * time.Second, api.OutcomePending},
		"it ran":                 {jobs(nil), 0, time.Minute, api.OutcomeConverged},
		"it failed":              {jobs(nil), 7, time.Hour, api.OutcomeFailed},
		"no such image":          {jobs(unknown), 0, time.Minute, api.OutcomeFailed},
		"nothing is referred to": {jobs(lacks), 0, time.Minute, api.OutcomeFailed},
		"it waits for another":   {jobs(waits), 0, time.Minute, api.OutcomePending},
		"it runs when asked":     {jobOf("mail:1"), 0, time.Minute, api.OutcomeConverged},
		"asked, no such image":   {jobOf("mail:9"), 0, time.Minute, api.OutcomeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(l *harness) {
				l.Node.Set(func(n *controltest.Node) { n.Code = c.code })
				l.Put(c.spec, mail)
				l.Pass(c.after)
				controltest.Outcome(t, *l.Snapshot().Object(mail).Value, l.status(mail), c.want)
			})
		})
	}
}
