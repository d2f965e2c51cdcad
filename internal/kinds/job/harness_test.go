package job

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

var (
	mail   = api.Ref{Kind: api.KindJob, Scope: "prod", Name: "mail"}
	backup = api.Ref{Kind: api.KindCronJob, Scope: "prod", Name: "backup"}
)

// harness is a world with the controllers of jobs and of cron jobs.
type harness struct{ *controltest.World }

// inHarness runs a test in a bubble.
func inHarness(t *testing.T, do func(l *harness)) {
	t.Helper()
	opts := controltest.Options{Images: map[string]string{"mail:1": "sha256:1", "mail:2": "sha256:2"}}
	opts.Controllers = func(w *controltest.World) (out []control.Controller) {
		for _, kind := range []api.Kind{api.KindJob, api.KindCronJob} {
			liveness := owner.NewLiveness(0, 0, nil)
			w.OnChange(liveness.Notice)
			out = append(out, controller(w.Deps(), Options{Kind: kind, Liveness: liveness}))
		}
		return out
	}
	controltest.Run(t, opts, func(w *controltest.World) {
		w.Node.Set(func(n *controltest.Node) { n.Lasts = 5 * time.Second })
		do(&harness{w})
	})
}

func controller(deps control.Deps, opts Options) *control.Shell {
	return control.New(deps, Kind(deps, opts))
}

// ask creates a run as the API does.
func (l *harness) ask(ref api.Ref, id string) {
	l.Helper()
	l.Write(func(txn *records.Txn) {
		txn.Put(records.RunKey(ref, id), api.Run{
			ID: id, Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Trigger: api.TriggerManual,
			CreatedAt: time.Now().UTC(), State: api.RunPending,
		})
	})
}

// stop asks to stop a run, as the API does.
func (l *harness) stop(ref api.Ref, id string) {
	l.Helper()
	run := l.run(ref, id)
	run.StoppedBy = "ada"
	l.Write(func(txn *records.Txn) { txn.Put(records.RunKey(ref, id), run) })
}

func (l *harness) run(ref api.Ref, id string) api.Run {
	l.Helper()
	run := l.Snapshot().Run(ref, id)
	if !run.Exists() {
		l.Fatalf("there is no run %s", id)
	}
	return *run.Value
}

func (l *harness) status(ref api.Ref) api.JobStatus {
	l.Helper()
	status := l.Snapshot().JobStatus(ref)
	if !status.Exists() {
		l.Fatal("there is no status")
	}
	return *status.Value
}

func (l *harness) condition(ref api.Ref, kind, reason string, want api.ConditionStatus) {
	l.Helper()
	l.Condition(ref, l.status(ref).Conditions, kind, want, reason)
}

func jobOf(image string) api.JobSpec {
	return api.JobSpec{Container: api.Container{Image: image}}
}
