package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

var mail = api.Ref{Kind: api.KindJob, Scope: "prod", Name: "mail"}

// job applies a job and begins a run of it, as its controller would.
func (w *world) job(run string, slot string, state api.RunState, at time.Time) {
	w.t.Helper()
	object := api.Object{Kind: mail.Kind, Scope: mail.Scope, Name: mail.Name, Spec: json.RawMessage(`{"image":"mail:1"}`)}
	if _, err := w.client.Apply(w.t.Context(), api.ApplyRequest{Objects: []api.Object{object}}); err != nil {
		w.t.Fatal(err)
	}
	task := api.Task{ID: "task-" + slot, Kind: mail.Kind, Scope: mail.Scope, Name: mail.Name, Slot: slot,
		Node: "n1", Release: "v1",
		Desired: api.DesiredRunning, CreatedAt: at, Class: api.ClassOnce, Run: run}
	w.put(records.TaskKey(task.ID), task)
	w.put(records.SlotKey(mail, slot), task.ID)
	w.put(records.TaskStatusKey(task.ID), api.TaskStatus{ID: task.ID, Node: "n1", State: api.TaskRunning, StartedAt: at})
	w.run(run, slot, state, at)
}

func (w *world) run(id, slot string, state api.RunState, at time.Time) {
	w.put(records.RunKey(mail, id),
		api.Run{ID: id, Kind: mail.Kind, Scope: mail.Scope, Name: mail.Name, State: state, CreatedAt: at,
			Attempts: []api.RunAttempt{{Task: "task-" + slot, Pod: "prod-mail." + slot}}})
}

func TestRunsAreAskedForAndRead(t *testing.T) {
	w := newWorld(t)
	w.job("m-1", "aaaaaaaa", api.RunSucceeded, started)
	result, err := w.client.Run(t.Context(), client.Target{Kind: api.KindJob, Name: "mail"})
	if err != nil || result.Run.State != api.RunPending || !strings.HasPrefix(result.Run.ID, "m-") {
		t.Fatalf("%+v, %v", result, err)
	}
	list, err := w.client.Runs(t.Context(), client.TargetOf(mail))
	if err != nil || len(list.Items) != 2 || list.Items[0].ID != result.Run.ID || list.Items[1].ID != "m-1" {
		t.Errorf("%+v, %v; want the newest first", list.Items, err)
	}
	if other, err := w.client.Runs(t.Context(), client.Target{Scope: "staging"}); err != nil || len(other.Items) != 0 {
		t.Errorf("%+v, %v", other, err)
	}
	if run, err := w.client.RunOf(t.Context(), mail, "m-1"); err != nil || run.State != api.RunSucceeded {
		t.Errorf("%+v, %v", run, err)
	}
	if _, err := w.client.RunOf(t.Context(), mail, "m-9"); !client.IsNotFound(err) {
		t.Errorf("%v; want not found", err)
	}
	if _, err := w.client.Run(t.Context(), client.Target{Kind: api.KindCronJob, Name: "mail"}); !client.IsNotFound(err) {
		t.Errorf("%v; want no cron job of that name", err)
	}
}

// A job is stopped by its runs, of which one may have no container yet; only without freeze by its containers.
func TestRunsAreStopped(t *testing.T) {
	w := newWorld(t)
	w.job("m-1", "aaaaaaaa", api.RunRunning, started)
	asked, err := w.client.Run(t.Context(), client.TargetOf(mail))
	if err != nil {
		t.Fatal(err)
	}
	attempt, err := w.client.StopPod(t.Context(), "prod-mail.aaaaaaaa", false)
	if err != nil || len(attempt.Runs) != 0 || !cmp.Equal(w.containers.stopped, []string{"task-aaaaaaaa"}) {
		t.Errorf("an attempt: %+v, %v, the agent stopped %v", attempt, err, w.containers.stopped)
	}
	if one, err := w.client.StopPod(t.Context(), "prod-mail.aaaaaaaa", true); err != nil ||
		!cmp.Equal(one.Runs, []string{"m-1"}) {
		t.Errorf("one by its pod: %+v, %v", one, err)
	}
	if all, err := w.client.Stop(t.Context(), client.TargetOf(mail), true); err != nil ||
		len(all.Runs) != 2 || !all.Changed {
		t.Errorf("all: %+v, %v", all, err)
	}
	if run, err := w.client.RunOf(t.Context(), mail, asked.Run.ID); err != nil || run.StoppedBy == "" {
		t.Errorf("%+v, %v; want it stopped", run, err)
	}
}

// The end of a run is answered at once to a waiting caller.
func TestTheEndOfARunIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.job("m-1", "aaaaaaaa", api.RunRunning, started)
	type answer struct {
		run api.Run
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		run, err := w.client.AwaitRun(t.Context(), mail, "m-1")
		answers <- answer{run, err}
	}()
	w.run("m-1", "aaaaaaaa", api.RunFailed, started)
	if got := <-answers; got.err != nil || got.run.State != api.RunFailed {
		t.Errorf("%+v", got)
	}
}

func TestLogsOfRuns(t *testing.T) {
	w := newWorld(t)
	w.job("m-1", "aaaaaaaa", api.RunFailed, started)
	w.job("m-2", "bbbbbbbb", api.RunRunning, started.Add(time.Minute))
	w.containers.set("task-aaaaaaaa", &fakeLog{lines: []runtime.LogLine{line(1, "old")}})
	w.containers.set("task-bbbbbbbb", &fakeLog{lines: []runtime.LogLine{line(2, "new")}})
	for name, c := range map[string]struct {
		opts client.LogsOptions
		want []string
	}{
		"the newest":   {client.LogsOptions{Target: client.TargetOf(mail)}, []string{"b new"}},
		"one by id":    {client.LogsOptions{Target: client.TargetOf(mail), Run: "m-1"}, []string{"a old"}},
		"one followed": {client.LogsOptions{Target: client.TargetOf(mail), Run: "m-1", Follow: true}, []string{"a old"}},
	} {
		if name == "one followed" {
			w.put(records.TaskStatusKey("task-aaaaaaaa"),
				api.TaskStatus{ID: "task-aaaaaaaa", State: api.TaskFailed, StartedAt: started})
		}
		if diff := cmp.Diff(c.want, allLines(t, w, c.opts)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := w.client.Logs(t.Context(),
		client.LogsOptions{Target: client.TargetOf(mail), Run: "m-9"}); !client.IsNotFound(err) {
		t.Errorf("%v; want not found", err)
	}
}
