package execstream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/client/frame"
	"tend.dev/tend/internal/execstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func errorOf(problem api.Problem) error { return &problem }

func problemOf(err error) *api.Problem {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem
	}
	return &api.Problem{Status: 500, Detail: err.Error()}
}

// remote returns a command whose other end is a connection of the test.
func remote(t *testing.T) (*execstream.Remote, net.Conn) {
	t.Helper()
	here, there := net.Pipe()
	r := execstream.NewRemote(here, here, true, func() { _ = here.Close() }, errorOf)
	t.Cleanup(func() {
		_ = there.Close()
		_ = r.Close()
	})
	return r, there
}

// await waits for a value of a channel.
func await[T any](t *testing.T, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: never", what)
	}
	return value
}

func goes(f func() error) <-chan error {
	out := make(chan error, 1)
	go func() { out <- f() }()
	return out
}

// TestHowARemoteEnds: only an Exit frame is an exit.
func TestHowARemoteEnds(t *testing.T) {
	for name, test := range map[string]struct {
		send func(net.Conn) error
		code int
		want string
	}{
		"exit":  {func(c net.Conn) error { return frame.Write(c, frame.Exit, []byte(`{"code":7}`)) }, 7, ""},
		"error": {func(c net.Conn) error { return frame.Write(c, frame.Error, []byte(`{"detail":"no engine"}`)) }, 0, "no engine"},
		"cut":   {func(c net.Conn) error { return c.Close() }, 0, "cut"},
		"cut in a frame": {func(c net.Conn) error {
			_, err := c.Write([]byte{byte(frame.Exit), 0})
			return errors.Join(err, c.Close())
		}, 0, "cut"},
		"nonsense": {func(c net.Conn) error { return frame.Write(c, frame.Exit, []byte(`7`)) }, 0, "json"},
		"unknown frames": {func(c net.Conn) error {
			return errors.Join(frame.Write(c, 99, nil), frame.Write(c, frame.Exit, []byte(`{"code":0}`)))
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, there := remote(t)
			sent := goes(func() error { return test.send(there) })
			code, err := r.Wait(t.Context())
			if code != test.code || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || errors.Is(err, io.EOF) {
				t.Errorf("%d, %v; want %d, %q", code, err, test.code, test.want)
			}
			if err := await(t, "sent", sent); err != nil {
				t.Error(err)
			}
			for _, out := range []io.Reader{r.Stdout(), r.Stderr()} {
				if rest, err := io.ReadAll(out); len(rest) != 0 || err != nil {
					t.Errorf("output ends with %q, %v", rest, err)
				}
			}
		})
	}
}

// TestWhatEndsAWriter: the command's end, a cut and Close each end a write that nothing reads.
func TestWhatEndsAWriter(t *testing.T) {
	for name, end := range map[string]func(*execstream.Remote, net.Conn) error{
		"close": func(r *execstream.Remote, _ net.Conn) error { return r.Close() },
		"cut":   func(_ *execstream.Remote, c net.Conn) error { return c.Close() },
		"exit":  func(_ *execstream.Remote, c net.Conn) error { return frame.Write(c, frame.Exit, []byte(`{}`)) },
	} {
		t.Run(name, func(t *testing.T) {
			r, there := remote(t)
			wrote := goes(func() error { _, err := r.Stdin().Write(make([]byte, 1<<20)); return err })
			if _, err := there.Read(make([]byte, 1)); err != nil { // the write has begun
				t.Fatal(err)
			}
			if err := await(t, "the end", goes(func() error { return end(r, there) })); err != nil {
				t.Error(err)
			}
			if err := await(t, "the writer returns", wrote); err == nil {
				t.Error("all was written")
			}
		})
	}
}

// TestCloseWithUnreadOutput: output that nothing reads doesn't hold up Close, and Wait obeys its context.
func TestCloseWithUnreadOutput(t *testing.T) {
	r, there := remote(t)
	if err := frame.Write(there, frame.Stdout, []byte("unread")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := await(t, "closed", goes(r.Close)); err != nil {
		t.Error(err)
	}
}

// stuck is a command that has ended, and whose input blocks until it is closed.
type stuck struct {
	in     *io.PipeReader
	stdin  *io.PipeWriter
	output io.Reader
}

func (s stuck) Stdin() io.WriteCloser                  { return s.stdin }
func (s stuck) Stdout() io.Reader                      { return s.output }
func (s stuck) Stderr() io.Reader                      { return nil }
func (s stuck) Resize(context.Context, int, int) error { return nil }
func (s stuck) Wait(context.Context) (int, error)      { return 5, nil }
func (s stuck) Close() error                           { return s.in.Close() }

// TestServeEndsWithItsCommand, also while input is written that the command doesn't read.
func TestServeEndsWithItsCommand(t *testing.T) {
	in, stdin := io.Pipe()
	output, out := io.Pipe()
	here, there := net.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	served := goes(func() error {
		execstream.Serve(ctx, cancel, here, here, stuck{in, stdin, output}, problemOf)
		return nil
	})
	if err := frame.Write(there, frame.Stdin, []byte("unread")); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if kind, payload, err := frame.Read(there); kind != frame.Exit || string(payload) != `{"code":5}` || err != nil {
		t.Errorf("%d %s %v", kind, payload, err)
	}
	await(t, "Serve returns", served)
	_ = there.Close()
}
