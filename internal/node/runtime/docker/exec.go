package docker

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// Exec starts a command. Its output is buffered up to a bound; then the command waits for its reader.
func (r *Runtime) Exec(ctx context.Context, id string, opts runtime.ExecOptions) (runtime.Exec, error) {
	id, err := r.own(ctx, id)
	if err != nil {
		return nil, err
	}
	size := client.ConsoleSize{}
	if opts.TTY {
		size = client.ConsoleSize{Height: uint(max(opts.Height, 0)), Width: uint(max(opts.Width, 0))}
	}
	created, err := r.client.ExecCreate(ctx, id, client.ExecCreateOptions{
		Cmd: opts.Command, Env: opts.Env, User: opts.User, WorkingDir: opts.WorkingDir, TTY: opts.TTY, ConsoleSize: size,
		AttachStdin: opts.Stdin, AttachStdout: true, AttachStderr: !opts.TTY,
	})
	if err != nil {
		return nil, r.containerFault("exec in", id, err)
	}
	attached, err := r.client.ExecAttach(ctx, created.ID, client.ExecAttachOptions{TTY: opts.TTY, ConsoleSize: size})
	if err != nil {
		return nil, r.containerFault("exec in", id, err)
	}
	running := &execution{
		runtime: r, id: created.ID, pod: r.nameOf(id), stream: attached.HijackedResponse,
		stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{}),
	}
	recovery.Go(func() { running.copy(opts.TTY) })
	if opts.TTY && size != (client.ConsoleSize{}) {
		// Engines before API 1.42 don't accept the size at the start.
		_ = running.Resize(ctx, opts.Width, opts.Height)
	}
	return running, nil
}

// execution is a running command. Closing it, or its end, ends the goroutine that copies.
type execution struct {
	runtime        *Runtime
	id, pod        string // the engine's id, and the pod's name
	stream         client.HijackedResponse
	stdout, stderr *output
	ended          chan struct{}
	// exited is set once the engine has given the exit code.
	exited  atomic.Bool
	closing sync.Once
}

func (e *execution) copy(tty bool) {
	defer close(e.ended)
	err := recovery.Call(func() (err error) {
		first := &firstWords{to: e.stdout}
		if tty {
			_, err = io.Copy(first, e.stream.Reader)
		} else {
			_, err = stdcopy.StdCopy(first, e.stderr, e.stream.Reader)
		}
		return errors.Join(err, e.explain(first, tty))
	})
	if errors.Is(err, errOutputClosed) {
		err = nil
	}
	e.stdout.end(err)
	e.stderr.end(err)
}

func (e *execution) Stdin() io.WriteCloser { return execInput{e} }
func (e *execution) Stdout() io.Reader     { return e.stdout }
func (e *execution) Stderr() io.Reader     { return e.stderr }

// execInput closes the command's input and leaves its output open.
type execInput struct{ *execution }

func (i execInput) Write(data []byte) (int, error) { return i.stream.Conn.Write(data) }
func (i execInput) Close() error                   { return i.stream.CloseWrite() }

func (e *execution) Resize(ctx context.Context, width, height int) error {
	_, err := e.runtime.client.ExecResize(ctx, e.id,
		client.ExecResizeOptions{Height: uint(max(height, 0)), Width: uint(max(width, 0))})
	return e.runtime.fault("resize exec", err)
}

// Wait waits for the end of the output, then until the engine knows the exit code, which may take a moment longer.
func (e *execution) Wait(ctx context.Context) (int, error) {
	select {
	case <-e.ended:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		inspected, err := e.runtime.client.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
		if err != nil {
			return 0, e.runtime.fault("exit code of exec", err)
		}
		if !inspected.Running {
			e.exited.Store(true)
			return inspected.ExitCode, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Close disconnects from the command, and ends it if it has not ended by itself: a command whose user has gone, or may
// run none any more, must not go on. It doesn't wait for that. A command that reads its input gets an end of file.
func (e *execution) Close() error {
	e.closing.Do(func() {
		if e.exited.Load() {
			return
		}
		e.runtime.endings.Go(e.hangUp)
	})
	e.stdout.abandon()
	e.stderr.abandon()
	err := e.stream.Conn.Close()
	<-e.ended
	return err
}
