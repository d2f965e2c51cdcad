package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

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
	e := &fakeExec{stdin: stdin, stdout: stdout, stderr: strings.NewReader("a warning"), code: code,
		sizes: make(chan [2]int, 1), closed: make(chan struct{})}
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
	if _, err := w.client.Exec(t.Context(), pod.ContainerName(), api.ExecRequest{},
		client.ExecIO{}); client.StatusOf(err) != 400 {
		t.Errorf("no command: %v, want 400", err)
	}
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) {
		return nil, &runtime.RejectedError{Reason: "NoProgram", Detail: "no such file", Next: "name a program of the image"}
	}
	if _, err := w.client.Exec(t.Context(), pod.ContainerName(), command, client.ExecIO{}); client.StatusOf(err) != 422 ||
		!strings.Contains(err.Error(), "name a program") {
		t.Errorf("a command that the runtime refuses: %v, want 422 and the next step", err)
	}
	w.containers.execs = nil
	if _, err := w.client.Exec(t.Context(), pod.ContainerName(), command, client.ExecIO{}); client.StatusOf(err) != 501 {
		t.Errorf("a runtime that can't: %v, want 501", err)
	}
	if _, err := w.client.Exec(t.Context(), "prod-web.zzzzzzzz", command, client.ExecIO{}); !client.IsNotFound(err) {
		t.Errorf("an unknown pod: %v, want 404", err)
	}
}

// TestExecInAPodThatIsNotRunning: the answer says so, and where to read why.
func TestExecInAPodThatIsNotRunning(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	one := 1
	for name, tc := range map[string]struct {
		reason string
		status api.TaskStatus
		exec   error
		want   string
	}{
		"crash loop": {"between two starts", api.TaskStatus{State: api.TaskRunning, CrashLoop: true, ExitCode: &one}, nil,
			"prod-web.aaaaaaaa isn't running (crash loop, exit 1)"},
		"failed": {"given up", api.TaskStatus{State: api.TaskFailed, ExitCode: &one}, nil,
			"prod-web.aaaaaaaa isn't running (failed, exit 1)"},
		"just now": {"its node doesn't know yet", api.TaskStatus{State: api.TaskRunning},
			&runtime.RejectedError{Reason: "NotRunning", Detail: "container 1a2b is not running"},
			"prod-web.aaaaaaaa isn't running"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.status.ID, tc.status.Node = pod.ID, pod.Node
			w.put(records.TaskStatusKey(pod.ID), tc.status)
			w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return nil, tc.exec }
			_, err := w.client.Exec(t.Context(), pod.ContainerName(), api.ExecRequest{Command: []string{"sh"}}, client.ExecIO{})
			if client.StatusOf(err) != 409 || !strings.HasPrefix(err.Error(), tc.want+"\n") ||
				!strings.HasSuffix(err.Error(), "tend logs prod/web") {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
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
	if _, err := w.client.Exec(ctx, pod.ContainerName(), api.ExecRequest{Command: []string{"cat"}},
		client.ExecIO{Stdin: stdin, Stdout: stdout}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
	<-running.closed
}

func TestExecEndsWithTheServer(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.Drain = time.Second })
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
	_, err := w.client.Exec(t.Context(), pod.ContainerName(), api.ExecRequest{Command: []string{"cat"}},
		client.ExecIO{Stdin: stdin, Stdout: stdout})
	if client.StatusOf(err) != 503 || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("got %v, want the notice that the server ends", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("serve: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
