package verbs

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func runnable(kind api.Kind, policy string) api.Object {
	spec := map[string]any{"image": "mail:1"}
	if kind == api.KindCronJob {
		spec["schedule"], spec["concurrency_policy"] = "@daily", policy
	}
	raw, _ := json.Marshal(spec)
	return api.Object{Kind: kind, Scope: "prod", Name: "mail", Spec: raw}
}

func TestRunCreatesARun(t *testing.T) {
	w := newWorld(t)
	w.mustApply(runnable(api.KindJob, ""))
	result, err := w.service.Run(t.Context(), Target{Kind: api.KindJob, Name: "mail"}, "ada")
	if err != nil {
		t.Fatal(err)
	}
	run := result.Run
	if !regexp.MustCompile(`^m-[0-9a-f]{8}$`).MatchString(run.ID) || run.State != api.RunPending ||
		run.Trigger != api.TriggerManual ||
		run.By != "ada" || !run.CreatedAt.Equal(testTime) || run.Scope != "prod" || result.Revision == 0 {
		t.Errorf("%+v", result)
	}
	if stored := w.snapshot().Run(run.Owner(), run.ID).Value; stored == nil || stored.ID != run.ID ||
		stored.By != "ada" {
		t.Errorf("stored is %+v", stored)
	}
}

func TestRunIsRefused(t *testing.T) {
	job := api.Ref{Kind: api.KindCronJob, Scope: "prod", Name: "mail"}
	for name, c := range map[string]struct {
		reason string
		policy string
		before api.RunState
		want   Reason
	}{
		"forbid, one runs":  {"never two at once", api.ConcurrencyForbid, api.RunRunning, RunForbidden},
		"forbid, one waits": {"it will run", api.ConcurrencyForbid, api.RunPending, RunForbidden},
		"forbid, one ended": {"nothing is in the way", api.ConcurrencyForbid, api.RunFailed, ""},
		"allow, one runs":   {"they overlap", api.ConcurrencyAllow, api.RunRunning, ""},
		"replace, one runs": {"its controller stops it", api.ConcurrencyReplace, api.RunRunning, ""},
		"nothing is said":   {"Allow is the default", "", api.RunRunning, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(runnable(api.KindCronJob, c.policy))
			w.put(records.RunKey(job, "m-1"),
				api.Run{ID: "m-1", Kind: job.Kind, Scope: job.Scope, Name: job.Name, State: c.before})
			_, err := w.service.Run(t.Context(), TargetOf(job), "")
			var refused *Error
			if errors.As(err, &refused); c.want == "" && err != nil ||
				c.want != "" && (refused == nil || refused.Reason != c.want) {
				t.Errorf("%v; want %q: %s", err, c.want, c.reason)
			}
		})
	}
}

// TestRunsAreStopped: all unfinished runs, or the named one, and the first user to ask is recorded.
func TestRunsAreStopped(t *testing.T) {
	w := newWorld(t)
	w.mustApply(runnable(api.KindJob, ""))
	job := api.Ref{Kind: api.KindJob, Scope: "prod", Name: "mail"}
	for id, state := range map[string]api.RunState{"m-1": api.RunRunning, "m-2": api.RunPending, "m-3": api.RunFailed} {
		w.put(records.RunKey(job, id), api.Run{ID: id, Kind: job.Kind, Scope: job.Scope, Name: job.Name, State: state,
			Attempts: []api.RunAttempt{{Task: "t" + id, Pod: "prod-mail." + id}}})
	}
	one, err := w.service.StopRuns(t.Context(), TargetOf(job), []string{"m-1"}, "ada")
	if err != nil || !one.Changed || !slices.Equal(one.Runs, []string{"m-1"}) ||
		!slices.Equal(one.Pods, []string{"prod-mail.m-1"}) {
		t.Errorf("one: %+v, %v", one, err)
	}
	if all, err := w.service.StopRuns(t.Context(), TargetOf(job), nil, "eve"); err != nil || len(all.Runs) != 2 {
		t.Errorf("all: %+v, %v", all, err)
	}
	if again, err := w.service.StopRuns(t.Context(), TargetOf(job), nil, "eve"); err != nil || again.Changed {
		t.Errorf("again: %+v, %v; want no write", again, err)
	}
	for id, want := range map[string]string{"m-1": "ada", "m-2": "eve", "m-3": ""} {
		if run := w.snapshot().Run(job, id).Value; run.StoppedBy != want {
			t.Errorf("%s was stopped by %q, want %q", id, run.StoppedBy, want)
		}
	}
}

func TestOnlyJobsRun(t *testing.T) {
	w := newWorld(t)
	w.mustApply(api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web",
		Spec: json.RawMessage(`{"image":"web:1"}`)})
	var refused *Error
	if _, err := w.service.Run(t.Context(), TargetOf(ref("prod", "web")), ""); !errors.As(err, &refused) ||
		refused.Reason != Invalid {
		t.Errorf("%v; want a refusal", err)
	}
	if _, err := w.service.Run(t.Context(), Target{Kind: api.KindJob, Scope: "prod", Name: "nobody"},
		""); !errors.As(err,
		&refused) || refused.Reason != NotFound {
		t.Errorf("%v; want it not found", err)
	}
	w.mustApply(runnable(api.KindJob, ""))
	if _, err := w.service.Delete(t.Context(), Target{Kind: api.KindJob, Scope: "prod", Name: "mail"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Run(t.Context(), Target{Kind: api.KindJob, Scope: "prod", Name: "mail"}, ""); !errors.As(err,
		&refused) || refused.Reason != Terminating {
		t.Errorf("%v; want no run of what is being deleted", err)
	}
}
