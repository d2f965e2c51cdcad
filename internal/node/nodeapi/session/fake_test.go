package session_test

import (
	"context"
	"errors"
	"io"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

// fake is a node whose answers a test chooses; what it doesn't choose panics.
type fake struct {
	nodeapi.Node
	list     func(context.Context) ([]runtime.Container, error)
	logs     func(ctx context.Context, pod string, opts runtime.LogOptions) (runtime.LogReader, error)
	kept     func(owner api.Ref) ([]node.KeptLog, error)
	keptLog  func(ctx context.Context, container string, opts runtime.LogOptions) (runtime.LogReader, error)
	exec     func(ctx context.Context, pod string, opts runtime.ExecOptions) (runtime.Exec, error)
	sample   func(kind string, pods []string) []runtime.Usage
	end      func(verb, name string) error
	image    func(id string) (io.ReadCloser, error)
	find     func(ctx context.Context, scope, name string) (node.FoundImage, error)
	disk     func(prune bool) (api.NodeDisk, error)
	buildLog func(ctx context.Context, called string, follow bool, each func(string) error) error
}

func (f *fake) List(ctx context.Context) ([]runtime.Container, error) { return f.list(ctx) }

func (f *fake) Logs(ctx context.Context, pod string, opts runtime.LogOptions) (runtime.LogReader, error) {
	return f.logs(ctx, pod, opts)
}

func (f *fake) KeptLogs(_ context.Context, owner api.Ref) ([]node.KeptLog, error) {
	return f.kept(owner)
}

func (f *fake) KeptLog(ctx context.Context, container string, opts runtime.LogOptions) (runtime.LogReader, error) {
	return f.keptLog(ctx, container, opts)
}

func (f *fake) Exec(ctx context.Context, pod string, opts runtime.ExecOptions) (runtime.Exec, error) {
	return f.exec(ctx, pod, opts)
}

func (f *fake) Stats(_ context.Context, pods []string) []runtime.Usage {
	return f.sample("stats", pods)
}

func (f *fake) Load(_ context.Context, pods []string) []runtime.Usage { return f.sample("load", pods) }

func (f *fake) Stop(_ context.Context, pod string) error { return f.end("stop", pod) }

func (f *fake) Discard(_ context.Context, container string) error { return f.end("discard", container) }

func (f *fake) Disk(_ context.Context, prune bool) (api.NodeDisk, error) { return f.disk(prune) }

func (f *fake) SaveImage(_ context.Context, id string, _ node.Part) (io.ReadCloser, error) {
	return f.image(id)
}

func (f *fake) FindImage(ctx context.Context, scope, name string) (node.FoundImage, error) {
	return f.find(ctx, scope, name)
}

func (f *fake) BuildLog(ctx context.Context, called string, follow bool, each func(string) error) error {
	return f.buildLog(ctx, called, follow, each)
}

// output is a log that a test writes. Like those of runtimes it ends with the context that it was opened with.
type output struct {
	ctx    context.Context
	lines  chan runtime.LogLine
	last   error // what ends it once lines is closed
	closed chan struct{}
	once   sync.Once
}

func newOutput(ctx context.Context, last error, lines ...runtime.LogLine) *output {
	o := &output{ctx: ctx, lines: make(chan runtime.LogLine, len(lines)), last: last, closed: make(chan struct{})}
	for _, line := range lines {
		o.lines <- line
	}
	close(o.lines)
	return o
}

// openOutput returns a log that goes on until the test closes lines.
func openOutput(ctx context.Context) *output {
	return &output{ctx: ctx, lines: make(chan runtime.LogLine), last: io.EOF, closed: make(chan struct{})}
}

// Next implements runtime.LogReader.
func (o *output) Next() (runtime.LogLine, error) {
	select {
	case line, more := <-o.lines:
		if !more {
			return line, o.last
		}
		return line, nil
	case <-o.ctx.Done():
		return runtime.LogLine{}, o.ctx.Err()
	}
}

// Close implements runtime.LogReader.
func (o *output) Close() error {
	o.once.Do(func() { close(o.closed) })
	return nil
}

// command is a running command whose program is a function of the test.
type command struct {
	in             *io.PipeReader
	stdin          *io.PipeWriter
	stdout, stderr *io.PipeReader
	out, errs      *io.PipeWriter
	sizes          chan [2]int
	closed, done   chan struct{}
	once           sync.Once
	code           int
	err            error
}

var errKilled = errors.New("killed")

func start(program func(c *command) (int, error)) *command {
	c := &command{sizes: make(chan [2]int, 10), closed: make(chan struct{}), done: make(chan struct{})}
	c.in, c.stdin = io.Pipe()
	c.stdout, c.out = io.Pipe()
	c.stderr, c.errs = io.Pipe()
	go func() {
		defer close(c.done)
		c.code, c.err = program(c)
		closeQuietly(c.in, c.out, c.errs)
	}()
	return c
}

func closeQuietly(all ...io.Closer) {
	for _, c := range all {
		_ = c.Close()
	}
}

// Stdin implements runtime.Exec.
func (c *command) Stdin() io.WriteCloser { return c.stdin }

// Stdout implements runtime.Exec.
func (c *command) Stdout() io.Reader { return c.stdout }

// Stderr implements runtime.Exec.
func (c *command) Stderr() io.Reader { return c.stderr }

// Resize implements runtime.Exec.
func (c *command) Resize(_ context.Context, width, height int) error {
	c.sizes <- [2]int{width, height}
	return nil
}

// Wait implements runtime.Exec.
func (c *command) Wait(ctx context.Context) (int, error) {
	select {
	case <-c.done:
		return c.code, c.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Close implements runtime.Exec.
func (c *command) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.stdin.CloseWithError(errKilled)
		closeQuietly(c.stdout, c.stderr)
	})
	return nil
}
