package execstream

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
	"tend.dev/tend/client/execwire"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// Remote is a command that runs at the other end of a connection. It implements runtime.Exec.
type Remote struct {
	conn  Conn
	stdin bool

	stdout, stderr *io.PipeReader

	done chan struct{}
	// code and err are valid once done is closed.
	code int
	err  error
}

var _ container.Exec = (*Remote)(nil)

// NewRemote returns the command at the other end of conn, whose Close may be called twice. stdin is set if the command
// reads its standard input. errorOf returns the error of Wait for a problem.
func NewRemote(conn Conn, stdin bool, errorOf func(api.Problem) error) *Remote {
	r := &Remote{conn: conn, stdin: stdin, done: make(chan struct{})}
	var stdout, stderr *io.PipeWriter
	r.stdout, stdout = io.Pipe()
	r.stderr, stderr = io.Pipe()
	recovery.Go(func() {
		defer close(r.done)
		defer stdout.Close()
		defer stderr.Close()
		defer r.end() // nothing reads what is still written to the command
		r.err = recovery.Call(func() (err error) {
			r.code, err = execwire.Output(context.Background(), conn, lenient{stdout}, lenient{stderr})
			return err
		})
		if problem, ok := errors.AsType[*api.Problem](r.err); ok {
			r.err = errorOf(*problem)
		} else if r.err != nil {
			r.err = fmt.Errorf("the node: %w", r.err)
		}
	})
	return r
}

// end ends blocked reads and writes too.
func (r *Remote) end() { _ = r.conn.Close(websocket.StatusNormalClosure, "") }

// lenient takes everything: a reader that left doesn't keep the command from its end.
type lenient struct{ io.Writer }

// Write implements io.Writer.
func (l lenient) Write(p []byte) (int, error) {
	_, _ = l.Writer.Write(p)
	return len(p), nil
}

// Stdin implements runtime.Exec.
func (r *Remote) Stdin() io.WriteCloser {
	if !r.stdin {
		return nil
	}
	return input{execwire.Writer(context.Background(), r.conn, execwire.Stdin), r}
}

// Stdout implements runtime.Exec.
func (r *Remote) Stdout() io.Reader { return r.stdout }

// Stderr implements runtime.Exec.
func (r *Remote) Stderr() io.Reader { return r.stderr }

// Resize implements runtime.Exec.
func (r *Remote) Resize(ctx context.Context, width, height int) error {
	return execwire.Send(ctx, r.conn, execwire.Control{Resize: &execwire.Size{Width: width, Height: height}})
}

// Wait implements runtime.Exec.
func (r *Remote) Wait(ctx context.Context) (int, error) {
	select {
	case <-r.done:
		return r.code, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Close implements runtime.Exec.
func (r *Remote) Close() error {
	r.end()
	_ = r.stdout.Close()
	_ = r.stderr.Close()
	<-r.done
	return nil
}

// input is the text that the command reads.
type input struct {
	io.Writer
	remote *Remote
}

// Close implements io.Closer.
func (i input) Close() error {
	return execwire.Send(context.Background(), i.remote.conn, execwire.Control{EOF: true})
}
