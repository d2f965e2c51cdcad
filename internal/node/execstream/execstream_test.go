package execstream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/client/execwire"
	"tend.dev/tend/internal/node/execstream"
	"tend.dev/tend/internal/node/runtime"
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

// over returns the messages over a connection.
func over(conn net.Conn) execstream.Conn { return execstream.Framed(conn, conn, conn.Close) }

// peer is the test's end of a connection.
type peer struct {
	net.Conn
	messages execstream.Conn
}

func (p peer) says(t *testing.T, control execwire.Control) error {
	return execwire.Send(t.Context(), p.messages, control)
}

// remote returns a command whose other end is a connection of the test.
func remote(t *testing.T) (*execstream.Remote, peer) {
	t.Helper()
	here, there := net.Pipe()
	r := execstream.NewRemote(over(here), true, errorOf)
	t.Cleanup(func() {
		_ = there.Close()
		_ = r.Close()
	})
	return r, peer{there, over(there)}
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

// TestHowARemoteEnds: only the message of an exit is an exit.
func TestHowARemoteEnds(t *testing.T) {
	exit := execwire.Control{Exit: &execwire.Status{Code: 7}}
	for name, test := range map[string]struct {
		send func(*testing.T, peer) error
		code int
		want string
	}{
		"exit": {func(t *testing.T, p peer) error { return p.says(t, exit) }, 7, ""},
		"error": {func(t *testing.T, p peer) error {
			return p.says(t, execwire.Control{Error: &api.Problem{Detail: "no engine"}})
		}, 0, "no engine"},
		"cut": {func(_ *testing.T, p peer) error { return p.Close() }, 0, "cut"},
		"cut in a message": {func(_ *testing.T, p peer) error {
			_, err := p.Write([]byte{byte(websocket.MessageText), 0})
			return errors.Join(err, p.Close())
		}, 0, "cut"},
		"nonsense": {func(t *testing.T, p peer) error {
			return p.messages.Write(t.Context(), websocket.MessageText, []byte("7"))
		}, 0, "json"},
		"nothing": {func(t *testing.T, p peer) error { return p.messages.Write(t.Context(), websocket.MessageBinary, nil) },
			0, "empty"},
		"too long": {func(_ *testing.T, p peer) error { _, err := p.Write([]byte{2, 0xff, 0xff, 0xff, 0xff}); return err },
			0, "big"},
		"unknown messages": {func(t *testing.T, p peer) error {
			_, err := execwire.Writer(t.Context(), p.messages, 99).Write([]byte("?"))
			return errors.Join(err, p.messages.Write(t.Context(), websocket.MessageText, []byte(`{"new":1}`)), p.says(t, exit))
		}, 7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, there := remote(t)
			sent := goes(func() error { return test.send(t, there) })
			code, err := r.Wait(t.Context())
			if code != test.code || (err == nil) != (test.want == "") ||
				err != nil && !strings.Contains(err.Error(), test.want) || errors.Is(err, io.EOF) {
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
	for name, end := range map[string]func(*execstream.Remote, peer) error{
		"close": func(r *execstream.Remote, _ peer) error { return r.Close() },
		"cut":   func(_ *execstream.Remote, p peer) error { return p.Close() },
		"exit":  func(_ *execstream.Remote, p peer) error { return p.says(t, execwire.Control{Exit: &execwire.Status{}}) },
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

// TestCloseWithUnreadOutput: output that nothing reads doesn't hold up Close, and Wait ends with its context.
func TestCloseWithUnreadOutput(t *testing.T) {
	r, there := remote(t)
	if _, err := execwire.Writer(t.Context(), there.messages, execwire.Stdout).Write([]byte("unread")); err != nil {
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

func (s stuck) begin(context.Context) (runtime.Exec, error) { return s, nil }

// serve serves a command to the test until it returns.
func serve(
	t *testing.T, start func(context.Context) (runtime.Exec, error),
) (messages execstream.Conn, served <-chan error) {
	t.Helper()
	here, there := net.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { _ = there.Close(); cancel(nil) })
	return over(there), goes(func() error {
		execstream.Serve(ctx, cancel, over(here), start, problemOf)
		return nil
	})
}

// TestServeEndsWithItsCommand, also while input is written that the command doesn't read.
func TestServeEndsWithItsCommand(t *testing.T) {
	in, stdin := io.Pipe()
	output, out := io.Pipe()
	messages, served := serve(t, stuck{in, stdin, output}.begin)
	if _, err := execwire.Writer(t.Context(), messages, execwire.Stdin).Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if code, err := execwire.Output(t.Context(), messages, nil, nil); code != 5 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	await(t, "Serve returns", served)
}

// TestWhatServeRefuses: a client that speaks another protocol, and a command that doesn't start, end with a problem.
func TestWhatServeRefuses(t *testing.T) {
	waits := func(context.Context) (runtime.Exec, error) {
		in, stdin := io.Pipe()
		output, _ := io.Pipe()
		return closing{stuck{in, stdin, output}, func() { _ = output.Close() }}, nil
	}
	broken := func(context.Context) (runtime.Exec, error) { return nil, errors.New("no engine") }
	for name, test := range map[string]struct {
		start func(context.Context) (runtime.Exec, error)
		send  any
		want  string
	}{
		"another protocol": {waits, execwire.Control{Exit: &execwire.Status{}}, "a client may send"},
		"no object":        {waits, 7, "json"},
		"no command":       {broken, execwire.Control{EOF: true}, "no engine"},
	} {
		t.Run(name, func(t *testing.T) {
			messages, served := serve(t, test.start)
			sent := goes(func() error { return execwire.Send(t.Context(), messages, test.send) })
			if _, err := execwire.Output(t.Context(), messages, nil, nil); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			await(t, "Serve returns", served)
			<-sent
		})
	}
}

// closing is a command whose end is requested.
type closing struct {
	stuck
	end func()
}

// Close implements runtime.Exec.
func (c closing) Close() error { c.end(); return c.stuck.Close() }

// TestAClientThatLeavesEarly: one that leaves while its command is being started ends the start.
func TestAClientThatLeavesEarly(t *testing.T) {
	starting := make(chan struct{})
	messages, served := serve(t, func(ctx context.Context) (runtime.Exec, error) {
		close(starting)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	<-starting
	_ = messages.Close(websocket.StatusNormalClosure, "")
	await(t, "Serve returns", served)
}
