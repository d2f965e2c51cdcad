package server_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// allLines reads a stream to its end.
func allLines(t *testing.T, w *world, opts client.LogsOptions) []string {
	t.Helper()
	stream, err := w.client.Logs(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var out []string
	for {
		line, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, textOf(line))
	}
}

func textOf(line api.LogLine) string {
	text := line.Pod[len(line.Pod)-1:] + " " + line.Text // these tests identify pods by their last letter
	if line.Error != nil {
		text += "! " + line.Error.Title
	}
	return text
}

func TestLogs(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	a, b, c := w.running("web", "aaaaaaaa", true), w.running("web", "bbbbbbbb", true), w.running("web", "cccccccc", true)
	w.containers.set(a.ID, &fakeLog{lines: []runtime.LogLine{line(1, "one"), line(3, "three")}})
	w.containers.set(b.ID, &fakeLog{lines: []runtime.LogLine{line(2, "two"), line(4, "four")}})
	_ = c // its container is not there yet
	tail := 1
	cases := map[string]struct {
		reason string
		opts   client.LogsOptions
		want   []string
	}{
		"all": {"replicas are merged by time", client.LogsOptions{Target: client.Target{Name: "web"}},
			[]string{"a one", "b two", "a three", "b four"}},
		"one": {"one pod alone", client.LogsOptions{Pod: a.ContainerName()}, []string{"a one", "a three"}},
		"tail": {"the last line of each", client.LogsOptions{Target: client.TargetOf(ref("web")), Tail: &tail},
			[]string{"a three", "b four"}},
		"since": {"what is older is dropped", client.LogsOptions{Target: client.TargetOf(ref("web")), Since: line(3, "").At},
			[]string{"a three", "b four"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, allLines(t, w, tc.opts)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
	w.containers.set(a.ID, &fakeLog{err: runtime.ErrUnavailable})
	if _, err := w.client.Logs(t.Context(), client.LogsOptions{Pod: a.ContainerName()}); client.StatusOf(err) != 503 {
		t.Errorf("an engine that doesn't answer: %v, want 503", err)
	}
}

// TestLogsSayWhatCannotBeRead: output of several pods is complete, or has a line for each pod whose output is missing.
func TestLogsSayWhatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	a, b := w.running("web", "aaaaaaaa", true), w.running("web", "bbbbbbbb", true)
	far := w.running("web", "cccccccc", true)
	far.Node = "n2" // which isn't connected
	w.put(records.TaskKey(far.ID), far)
	w.running("web", "dddddddd", true) // its container isn't there yet: not a failure
	w.containers.set(a.ID, &fakeLog{lines: []runtime.LogLine{line(1, "one")}})
	w.containers.set(b.ID, &fakeLog{err: runtime.ErrUnavailable})
	want := []string{"b ! Service Unavailable", "c ! Service Unavailable", "a one"}
	if diff := cmp.Diff(want, allLines(t, w, client.LogsOptions{Target: client.TargetOf(ref("web"))})); diff != "" {
		t.Error(diff)
	}
}

func TestLogsFollow(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	a := w.running("web", "aaaaaaaa", true)
	first := make(chan runtime.LogLine)
	w.containers.set(a.ID, &fakeLog{lines: []runtime.LogLine{line(1, "old")}, more: first})
	stream, err := w.client.Logs(t.Context(), client.LogsOptions{Target: client.TargetOf(ref("web")), Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	next := func(want string) {
		t.Helper()
		line, err := stream.Next()
		if err != nil || textOf(line) != want {
			t.Fatalf("got %q, %v; want %q", textOf(line), err, want)
		}
	}
	next("a old")
	first <- line(2, "new")
	next("a new")

	// A replica that comes later is followed too.
	second := make(chan runtime.LogLine)
	w.containers.set("task-bbbbbbbb", &fakeLog{more: second})
	w.running("web", "bbbbbbbb", true)
	second <- line(3, "hello")
	next("b hello")

	// The container of the first ends and is started again: its new output is read once, after the earlier.
	again := make(chan runtime.LogLine)
	w.containers.set(a.ID, &fakeLog{lines: []runtime.LogLine{line(1, "old"), line(2, "new"), line(9, "again")},
		more: again})
	close(first)
	w.put(records.TaskStatusKey(a.ID), api.TaskStatus{ID: a.ID, State: api.TaskRunning, StartedAt: line(8, "").At})
	next("a again")

	// The end of everything is the end of the stream.
	close(again)
	close(second)
	for _, slot := range []string{"aaaaaaaa", "bbbbbbbb"} {
		w.delete(records.TaskKey("task-" + slot))
	}
	w.delete(records.ObjectKey(ref("web")))
	if line, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v; want the end", textOf(line), err)
	}
}

// TestLogsFollowResumes: an engine that ends its stream while the container runs, or begins it again in the middle,
// loses nothing and repeats nothing.
func TestLogsFollowResumes(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	live := make(chan runtime.LogLine)
	w.containers.set(pod.ID, &fakeLog{lines: []runtime.LogLine{line(1, "one"), line(2, "two"), line(1, "one"),
		line(2, "two"), line(3, "three")}, more: live})
	stream, err := w.client.Logs(t.Context(), client.LogsOptions{Pod: pod.ContainerName(), Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	rest := make(chan runtime.LogLine)
	for _, want := range []string{"a one", "a two", "a three", "a four", "a five"} {
		if want == "a four" {
			w.containers.set(pod.ID, &fakeLog{lines: []runtime.LogLine{line(3, "three"), line(4, "four")}, more: rest})
			close(live)
		}
		if want == "a five" {
			rest <- line(5, "five")
		}
		if line, err := stream.Next(); err != nil || textOf(line) != want {
			t.Fatalf("got %q, %v; want %q", textOf(line), err, want)
		}
	}
}
