package execstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/client/frame"
	container "tend.dev/tend/internal/runtime"
)

// Remote is a command that runs at the other end of a connection. It implements runtime.Exec.
type Remote struct {
	in      io.Writer
	close   func()
	errorOf func(api.Problem) error
	stdin   bool

	stdout, stderr       *io.PipeReader
	stdoutEnd, stderrEnd *io.PipeWriter

	writing sync.Mutex
	done    chan struct{}
	// code and err are valid once done is closed.
	code int
	err  error
}

var _ container.Exec = (*Remote)(nil)

// NewRemote returns the command whose frames come from out; in takes those for it. end ends the connection, and with it
// out and blocked writes to in; it may be called twice. stdin says whether the command reads.
func NewRemote(in io.Writer, out io.Reader, stdin bool, end func(), errorOf func(api.Problem) error) *Remote {
	r := &Remote{in: in, close: end, errorOf: errorOf, stdin: stdin, done: make(chan struct{})}
	r.stdout, r.stdoutEnd = io.Pipe()
	r.stderr, r.stderrEnd = io.Pipe()
	go r.read(out)
	return r
}

// read takes frames until the command has ended or the connection is cut.
func (r *Remote) read(out io.Reader) {
	defer close(r.done)
	defer r.stdoutEnd.Close()
	defer r.stderrEnd.Close()
	defer r.close() // nothing reads what is still written to the command
	for {
		kind, payload, err := frame.Read(out)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // a command's end is a frame
		}
		if err != nil {
			r.err = fmt.Errorf("the connection to the node was cut: %w", err)
			return
		}
		switch kind {
		case frame.Stdout: // a reader that left doesn't keep the command from its end
			_, _ = r.stdoutEnd.Write(payload)
		case frame.Stderr:
			_, _ = r.stderrEnd.Write(payload)
		case frame.Exit:
			var status frame.Status
			r.err = json.Unmarshal(payload, &status)
			r.code = status.Code
			return
		case frame.Error:
			var problem api.Problem
			if r.err = json.Unmarshal(payload, &problem); r.err == nil {
				r.err = r.errorOf(problem)
			}
			return
		}
	}
}

func (r *Remote) send(kind frame.Kind, payload []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	return frame.Write(r.in, kind, payload)
}

// Stdin implements runtime.Exec.
func (r *Remote) Stdin() io.WriteCloser {
	if !r.stdin {
		return nil
	}
	return input{r}
}

// Stdout implements runtime.Exec.
func (r *Remote) Stdout() io.Reader { return r.stdout }

// Stderr implements runtime.Exec.
func (r *Remote) Stderr() io.Reader { return r.stderr }

// Resize implements runtime.Exec.
func (r *Remote) Resize(_ context.Context, width, height int) error {
	payload, err := json.Marshal(frame.Size{Width: width, Height: height})
	if err != nil {
		return err
	}
	return r.send(frame.Resize, payload)
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
	r.close()
	_ = r.stdout.Close()
	_ = r.stderr.Close()
	<-r.done
	return nil
}

// input is what the command reads.
type input struct{ remote *Remote }

// Write implements io.Writer.
func (i input) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), frame.MaxPayload)]
		if err := i.remote.send(frame.Stdin, part); err != nil {
			return written, err
		}
		written, p = written+len(part), p[len(part):]
	}
	return written, nil
}

// Close implements io.Closer.
func (i input) Close() error { return i.remote.send(frame.Close, nil) }
