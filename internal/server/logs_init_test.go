package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// preparing puts a pod that is held up in its init containers.
func preparing(w *world, slot string, state api.TaskState) api.Task {
	task := w.running("web", slot, false)
	w.put(records.ReleaseKey(task.Owner(), "v1"),
		api.Release{ID: "v1", Kind: task.Kind, Scope: task.Scope, Name: task.Name,
			Spec: json.RawMessage(`{"image":"a","inits":[{"name":"first","command":["x"]},{"name":"migrate","command":["x"]}]}`)})
	w.put(records.TaskStatusKey(task.ID),
		api.TaskStatus{ID: task.ID, State: state, Inits: &api.InitProgress{Next: 1, Attempt: 1}})
	return task
}

func TestLogsOfInits(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	a, b := preparing(w, "aaaaaaaa", api.TaskFailed), preparing(w, "bbbbbbbb", api.TaskStarting)
	w.containers.set(b.InitName("first"), &fakeLog{err: node.ErrNoPod}) // the agent's answer about a removed container
	c := w.running("web", "cccccccc", true)
	w.containers.set(a.InitName("first"), &fakeLog{lines: []runtime.LogLine{line(1, "one")}})
	w.containers.set(a.InitName("migrate"), &fakeLog{lines: []runtime.LogLine{line(2, "two")}})
	w.containers.set(b.InitName("migrate"), &fakeLog{lines: []runtime.LogLine{line(3, "three")}})
	w.containers.set(c.ID, &fakeLog{lines: []runtime.LogLine{line(4, "four")}})
	all := client.Target{Name: "web"}
	for name, tc := range map[string]struct {
		reason string
		opts   client.LogsOptions
		want   []string
	}{
		"one of all": {"each pod's where it is there", client.LogsOptions{Target: all, Init: "migrate"},
			[]string{"a two", "b three"}},
		"of a pod": {"its alone", client.LogsOptions{Pod: a.ContainerName(), Init: "first"}, []string{"a one"}},
		"unasked": {"what never ran shows what holds it up", client.LogsOptions{Target: all},
			[]string{"a one", "a two", "b three", "c four"}},
		"failed pod": {"so does one alone", client.LogsOptions{Pod: a.ContainerName()}, []string{"a one", "a two"}},
	} {
		if diff := cmp.Diff(tc.want, allLines(t, w, tc.opts)); diff != "" {
			t.Errorf("%s: %s: %s", name, tc.reason, diff)
		}
	}
	for reason, tc := range map[string]struct {
		opts client.LogsOptions
		said string
	}{
		"no such init": {client.LogsOptions{Target: all, Init: "seed"}, "there is first, migrate"},
		"none there":   {client.LogsOptions{Pod: b.ContainerName(), Init: "first"}, "removed once their pod runs"},
	} {
		_, err := w.client.Logs(t.Context(), tc.opts)
		var problem *api.Problem
		if client.StatusOf(err) != 404 || !errors.As(err, &problem) || !strings.Contains(problem.Next, tc.said) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestLogsFollowInits: the attempts of an init container come one after the other, then the output of the pod.
// Requested by name, the init's output ends when its pod runs.
func TestLogsFollowInits(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := preparing(w, "aaaaaaaa", api.TaskStarting)
	says := func(attempt int, lines ...runtime.LogLine) {
		w.containers.set(pod.InitName("migrate"), &fakeLog{lines: lines})
		w.put(records.TaskStatusKey(pod.ID),
			api.TaskStatus{ID: pod.ID, State: api.TaskStarting, Inits: &api.InitProgress{Next: 1, Attempt: attempt}})
	}
	says(1, line(1, "no"))
	whole, err := w.client.Logs(t.Context(), client.LogsOptions{Target: client.TargetOf(ref("web")), Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	alone, err := w.client.Logs(t.Context(), client.LogsOptions{Pod: pod.ContainerName(), Init: "migrate", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	wants := func(stream *client.LogStream, want string) {
		t.Helper()
		if line, err := stream.Next(); err != nil || textOf(line) != want {
			t.Fatalf("got %q, %v; want %q", textOf(line), err, want)
		}
	}
	wants(whole, "a no")
	wants(alone, "a no")
	says(2, line(2, "yes"))
	wants(whole, "a yes")
	wants(alone, "a yes")
	w.containers.set(pod.ID, &fakeLog{lines: []runtime.LogLine{line(3, "serving")}})
	w.put(records.TaskStatusKey(pod.ID), api.TaskStatus{ID: pod.ID, State: api.TaskRunning, StartedAt: line(3, "").At})
	wants(whole, "a serving")
	if line, err := alone.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v; want the end", textOf(line), err)
	}
}
