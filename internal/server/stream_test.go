package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/server"
)

// told is an event as the tests compare it.
func told(t *testing.T, w *client.Watch) string {
	t.Helper()
	event, err := w.Next()
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	return fmt.Sprintf("%s %s %d", event.Type, event.Object.Name, event.Object.Metadata.Generation)
}

func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.apply("old", `{"image":"a"}`)
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{})
	defer watch.Close()
	want := []string{"put old 1", "put web 1", "put web 2", "put web 2", "put old 1", "delete old 0"}
	steps := []func(){
		func() {},
		func() { w.apply("web", `{"image":"a"}`) },
		func() { w.apply("web", `{"image":"b"}`) },
		func() { w.put(layout.StatusKey(ref("web")), api.WorkloadStatus{Ready: 1}) },
		func() {
			if _, err := w.client.Delete(t.Context(), ref("old")); err != nil {
				t.Fatal(err)
			}
		},
		func() { w.delete(layout.ObjectKey(ref("old"))) },
	}
	for i, step := range steps {
		step()
		if got := told(t, watch); got != want[i] {
			t.Fatalf("event %d: %s, want %s", i, got, want[i])
		}
	}
}

func TestWatchResumes(t *testing.T) {
	w := newWorld(t)
	first := w.apply("a", `{"image":"a"}`)
	w.apply("b", `{"image":"a"}`)
	w.apply("c", `{"image":"a"}`)
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{Since: first.Revision})
	defer watch.Close()
	for _, want := range []string{"put b 1", "put c 1"} {
		if got := told(t, watch); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if watch.Revision() != w.view.Revision() {
		t.Errorf("resumes from %d, want %d", watch.Revision(), w.view.Revision())
	}
}

func TestWatchIsGone(t *testing.T) {
	w := newWorld(t) // keeps 50 changes
	for i := range 60 {
		w.apply("web", fmt.Sprintf(`{"image":"web:%d"}`, i))
	}
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{Since: 1})
	defer watch.Close()
	_, err := watch.Next()
	if !client.IsGone(err) || !strings.Contains(err.Error(), "list again") {
		t.Errorf("got %v, want 410 with the next step", err)
	}
}

func TestWatchSelects(t *testing.T) {
	w := newWorld(t)
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{ObjectFilter: client.ObjectFilter{Scope: "prod", Selector: "tier=front"}})
	defer watch.Close()
	labelled := func(name string, labels map[string]string) {
		object := deployment(name, `{"image":"x"}`)
		object.Metadata.Labels = labels
		if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{object}}); err != nil {
			t.Fatal(err)
		}
	}
	labelled("back", nil)
	labelled("front", map[string]string{"tier": "front"})
	if got := told(t, watch); got != "put front 1" {
		t.Errorf("%s", got)
	}
	labelled("front", map[string]string{"tier": "back"})
	if got := told(t, watch); got != "delete front 0" {
		t.Errorf("%s: an object that no longer matches is gone for this watch", got)
	}
}

func TestWatchAsServerSentEvents(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", w.http+"/v1/objects/deployment?watch", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "text/event-stream")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	start := make([]byte, 12)
	if _, err := io.ReadFull(response.Body, start); err != nil || string(start) != "id: 0\ndata: " {
		t.Errorf("begins with %q, %v", start, err)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.MaxStreams = 1 })
	w.apply("web", `{"image":"a"}`)
	first := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{})
	if _, err := first.Next(); err != nil {
		t.Fatal(err)
	}
	response, body := w.raw("GET", "/v1/objects/deployment?watch=1", "", "")
	wantProblem(t, response, body, 503)
	first.Close()
}

func TestShutdownEndsStreams(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	request, _ := http.NewRequestWithContext(t.Context(), "GET", w.http+"/v1/objects/deployment?watch=1", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := w.stop(); err != nil {
		t.Errorf("serve: %v", err)
	}
	rest, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(rest), "shutting down") {
		t.Errorf("the stream was not told to end: %v, %s", err, rest)
	}
}

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
	text := line.Pod[len(line.Pod)-1:] + " " + line.Text
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
		"all":   {"replicas are merged by time", client.LogsOptions{Target: client.Target{Name: "web"}}, []string{"a one", "b two", "a three", "b four"}},
		"one":   {"one pod alone", client.LogsOptions{Pod: a.ContainerName()}, []string{"a one", "a three"}},
		"tail":  {"the last line of each", client.LogsOptions{Target: client.TargetOf(ref("web")), Tail: &tail}, []string{"a three", "b four"}},
		"since": {"what is older is dropped", client.LogsOptions{Target: client.TargetOf(ref("web")), Since: line(3, "").At}, []string{"a three", "b four"}},
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

	// The container of the first ends and is started again: what it says then is read once, after what was read.
	again := make(chan runtime.LogLine)
	w.containers.set(a.ID, &fakeLog{lines: []runtime.LogLine{line(1, "old"), line(2, "new"), line(9, "again")}, more: again})
	close(first)
	w.put(layout.TaskStatusKey(a.ID), api.TaskStatus{ID: a.ID, State: api.TaskRunning, StartedAt: line(8, "").At})
	next("a again")

	// The end of everything is the end of the stream.
	close(again)
	close(second)
	for _, slot := range []string{"aaaaaaaa", "bbbbbbbb"} {
		w.delete(layout.TaskKey("task-" + slot))
	}
	w.delete(layout.ObjectKey(ref("web")))
	if line, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v; want the end", textOf(line), err)
	}
}

// fakeExec is a command that echoes its input in upper case and complains on stderr.
type fakeExec struct {
	stdin          *io.PipeWriter
	stdout, stderr io.Reader
	code           int
	sizes          chan [2]int
	closed         chan struct{}
}

func newEcho(code int) *fakeExec {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	e := &fakeExec{stdin: stdin, stdout: stdout, stderr: strings.NewReader("a warning"), code: code, sizes: make(chan [2]int, 1), closed: make(chan struct{})}
	go func() {
		buffer := make([]byte, 64)
		for {
			n, err := in.Read(buffer)
			if n > 0 {
				out.Write(bytes.ToUpper(buffer[:n]))
			}
			if err != nil {
				out.Close()
				return
			}
		}
	}()
	return e
}

func (e *fakeExec) Stdin() io.WriteCloser { return e.stdin }
func (e *fakeExec) Stdout() io.Reader     { return e.stdout }
func (e *fakeExec) Stderr() io.Reader     { return e.stderr }
func (e *fakeExec) Resize(_ context.Context, width, height int) error {
	e.sizes <- [2]int{width, height}
	return nil
}
func (e *fakeExec) Wait(context.Context) (int, error) { return e.code, nil }
func (e *fakeExec) Close() error {
	select {
	case <-e.closed:
	default:
		close(e.closed)
		e.stdin.Close()
	}
	return nil
}

func TestExec(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	var asked runtime.ExecOptions
	w.containers.execs = func(o runtime.ExecOptions) (runtime.Exec, error) { asked = o; return newEcho(42), nil }
	var stdout, stderr bytes.Buffer
	command := api.ExecRequest{Command: []string{"tr", "a-z", "A-Z"}, Env: []string{"A=1"}, User: "nobody"}
	code, err := w.client.Exec(t.Context(), pod.ContainerName(), command,
		client.ExecIO{Stdin: strings.NewReader("hello"), Stdout: &stdout, Stderr: &stderr})
	if err != nil || code != 42 || stdout.String() != "HELLO" || stderr.String() != "a warning" {
		t.Errorf("exit %d, %v, stdout %q, stderr %q", code, err, stdout.String(), stderr.String())
	}
	want := runtime.ExecOptions{Command: command.Command, Env: command.Env, User: "nobody", Stdin: true}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	if _, err := w.client.Exec(t.Context(), pod.ContainerName(), api.ExecRequest{}, client.ExecIO{}); client.StatusOf(err) != 400 {
		t.Errorf("no command: %v, want 400", err)
	}
	w.containers.execs = nil
	if _, err := w.client.Exec(t.Context(), pod.ContainerName(), command, client.ExecIO{}); client.StatusOf(err) != 501 {
		t.Errorf("a runtime that can't: %v, want 501", err)
	}
	if _, err := w.client.Exec(t.Context(), "prod-web.zzzzzzzz", command, client.ExecIO{}); !client.IsNotFound(err) {
		t.Errorf("an unknown pod: %v, want 404", err)
	}
}

func TestExecEndsWithItsClient(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	running := newEcho(0)
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return running, nil }
	ctx, cancel := context.WithCancel(t.Context())
	stdin, typing := io.Pipe()
	defer typing.Close()
	var stdout writerFunc = func(b []byte) (int, error) { cancel(); return len(b), nil }
	go func() { _, _ = typing.Write([]byte("x")) }()
	if _, err := w.client.Exec(ctx, pod.ContainerName(), api.ExecRequest{Command: []string{"cat"}}, client.ExecIO{Stdin: stdin, Stdout: stdout}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
	<-running.closed
}

func TestExecEndsWithTheServer(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return newEcho(0), nil }
	stdin, typing := io.Pipe()
	defer typing.Close()
	stopped := make(chan error, 1)
	var stdout writerFunc = func(b []byte) (int, error) {
		go func() { stopped <- w.stop() }()
		return len(b), nil
	}
	go func() { _, _ = typing.Write([]byte("x")) }()
	_, err := w.client.Exec(t.Context(), pod.ContainerName(), api.ExecRequest{Command: []string{"cat"}}, client.ExecIO{Stdin: stdin, Stdout: stdout})
	if client.StatusOf(err) != 503 || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("got %v, want to be told that the server ends", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("serve: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
