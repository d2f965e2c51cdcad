package hollow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// execution is a scripted command.
type execution struct {
	stdin          *io.PipeWriter
	stdout, stderr *io.PipeReader
	inside         []io.Closer
	done           chan struct{}
	code           int
}

// Exec implements runtime.Runtime.
func (r *Runtime) Exec(ctx context.Context, id string, opts runtime.ExecOptions) (runtime.Exec, error) {
	var script func(ExecCall) int
	err := r.with(ctx, id, func(_ *Engine, c *container) error {
		if c.state != runtime.StateRunning {
			return &runtime.RejectedError{
				Reason: "NotRunning", Detail: fmt.Sprintf("the container %s is %s, not running", c.name, c.state),
				Next: "start it first",
			}
		}
		script = scriptOf(c.behaviour)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return runScript(script, opts), nil
}

func scriptOf(behaviour Behaviour) func(ExecCall) int {
	if behaviour.Exec != nil {
		return behaviour.Exec
	}
	return func(ExecCall) int {
		if behaviour.Unhealthy {
			return 1
		}
		return 0
	}
}

func runScript(script func(ExecCall) int, opts runtime.ExecOptions) *execution {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	x := &execution{stdin: inW, stdout: outR, stderr: errR, inside: []io.Closer{inR, outW, errW},
		done: make(chan struct{})}
	call := ExecCall{Options: opts, Stdin: inR, Stdout: outW, Stderr: errW}
	if opts.TTY {
		call.Stderr = outW
	}
	if !opts.Stdin {
		_ = inW.Close()
	}
	go func() {
		defer close(x.done)
		x.code = script(call)
		for _, end := range x.inside {
			_ = end.Close()
		}
	}()
	return x
}

func (x *execution) Stdin() io.WriteCloser { return x.stdin }
func (x *execution) Stdout() io.Reader     { return x.stdout }
func (x *execution) Stderr() io.Reader     { return x.stderr }

func (x *execution) Resize(context.Context, int, int) error { return nil }

func (x *execution) Wait(ctx context.Context) (int, error) {
	select {
	case <-x.done:
		return x.code, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Close abandons the command: its reads and writes fail afterwards.
func (x *execution) Close() error {
	return errors.Join(x.stdin.CloseWithError(io.ErrClosedPipe), x.stdout.Close(), x.stderr.Close())
}

// Stats implements runtime.Runtime.
func (r *Runtime) Stats(ctx context.Context, id string) (runtime.Stats, error) {
	var out runtime.Stats
	err := r.with(ctx, id, func(e *Engine, c *container) error {
		if !c.alive() {
			return fmt.Errorf("the container %s is %s, not running", c.name, c.state)
		}
		out = c.behaviour.Stats
		out.At = time.Now()
		if out.CPUTime == 0 {
			out.CPUTime = time.Duration(c.behaviour.CPUPercent / 100 * float64(out.At.Sub(c.started)))
		}
		if out.PIDs == 0 {
			out.PIDs = 1
		}
		return nil
	})
	return out, err
}
