package hollow

import (
	"context"
	"io"
	"slices"

	"tend.dev/tend/internal/node/runtime"
)

// logReader reads a container's output from memory.
type logReader struct {
	engine    *Engine
	container *container
	ctx       context.Context
	cancel    context.CancelFunc
	opts      runtime.LogOptions
	next      int
}

// Logs implements runtime.Runtime.
func (r *Runtime) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogReader, error) {
	reader := &logReader{engine: r.engine, opts: opts}
	err := r.with(ctx, id, func(_ *Engine, c *container) error {
		reader.container = c
		reader.next = firstLine(c.output, opts)
		return nil
	})
	if err != nil {
		return nil, err
	}
	reader.ctx, reader.cancel = context.WithCancel(ctx)
	return reader, nil
}

func firstLine(output []runtime.LogLine, opts runtime.LogOptions) int {
	first := slices.IndexFunc(output, func(line runtime.LogLine) bool { return !line.At.Before(opts.Since) })
	if first < 0 {
		return len(output)
	}
	if opts.Tail >= 0 {
		first = max(first, len(output)-opts.Tail)
	}
	return first
}

// Next returns a line. With follow, it waits for one as long as the container runs.
func (l *logReader) Next() (runtime.LogLine, error) {
	for {
		line, changed, err := l.try()
		if changed == nil {
			return line, err
		}
		select {
		case <-changed:
		case <-l.ctx.Done():
			return runtime.LogLine{}, io.EOF
		}
	}
}

// try returns a line or the end, or else the channel to wait for.
func (l *logReader) try() (runtime.LogLine, <-chan struct{}, error) {
	l.engine.mu.Lock()
	defer l.engine.mu.Unlock()
	if l.ctx.Err() != nil {
		return runtime.LogLine{}, nil, io.EOF
	}
	if l.next < len(l.container.output) {
		line := l.container.output[l.next]
		l.next++
		return line, nil, nil
	}
	if !l.opts.Follow || !l.container.active() {
		return runtime.LogLine{}, nil, io.EOF
	}
	return runtime.LogLine{}, l.container.changed, nil
}

func (l *logReader) Close() error {
	l.cancel()
	return nil
}
