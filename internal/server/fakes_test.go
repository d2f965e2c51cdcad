package server_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

// fakeContainers are a fake agent of every node.
type fakeContainers struct {
	nodeapi.Node
	mu      sync.Mutex
	logs    map[string]*fakeLog
	stopped []string
	execs   func(runtime.ExecOptions) (runtime.Exec, error)
	stats   func(task string) runtime.Usage
	disk    func(prune bool) (api.NodeDisk, error)
	// hang, if set, is closed when Stats is called, which then waits for its context.
	hang chan struct{}
	// unobserved: nothing was observed since the server started.
	unobserved atomic.Bool
}

// Observed implements the server's interface of an agent.
func (f *fakeContainers) Observed(string) bool { return !f.unobserved.Load() }

// Disk returns the test's answer.
func (f *fakeContainers) Disk(_ context.Context, prune bool) (api.NodeDisk, error) {
	return f.disk(prune)
}

// fakeLog is the output of a task's container, one incarnation after the other.
type fakeLog struct {
	lines []runtime.LogLine
	// more delivers new lines while it is followed; nil ends at once, a closed channel is the incarnation's end.
	more chan runtime.LogLine
	err  error
}

func (f *fakeContainers) set(task string, log *fakeLog) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs[task] = log
}

func (f *fakeContainers) Logs(ctx context.Context, task string, opts runtime.LogOptions) (runtime.LogReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.logs[task]
	if log == nil {
		return nil, runtime.ErrNotFound
	}
	if log.err != nil {
		return nil, log.err
	}
	var lines []runtime.LogLine
	for _, line := range log.lines {
		if !line.At.Before(opts.Since) {
			lines = append(lines, line)
		}
	}
	if opts.Tail >= 0 && len(lines) > opts.Tail {
		lines = lines[len(lines)-opts.Tail:]
	}
	reader := &fakeReader{ctx: ctx, lines: lines}
	if opts.Follow {
		reader.more = log.more
	}
	return reader, nil
}

type fakeReader struct {
	ctx   context.Context
	lines []runtime.LogLine
	more  chan runtime.LogLine
}

func (r *fakeReader) Next() (runtime.LogLine, error) {
	if len(r.lines) > 0 {
		line := r.lines[0]
		r.lines = r.lines[1:]
		return line, nil
	}
	if r.more == nil {
		return runtime.LogLine{}, io.EOF
	}
	select {
	case line, open := <-r.more:
		if !open {
			return line, io.EOF
		}
		return line, nil
	case <-r.ctx.Done():
		return runtime.LogLine{}, r.ctx.Err()
	}
}

func (r *fakeReader) Close() error { return nil }

func (f *fakeContainers) Exec(_ context.Context, _ string, opts runtime.ExecOptions) (runtime.Exec, error) {
	if f.execs == nil {
		return nil, runtime.ErrUnsupported
	}
	return f.execs(opts)
}

func (f *fakeContainers) Stats(ctx context.Context, tasks []string) []runtime.Usage {
	if f.hang != nil {
		close(f.hang)
		<-ctx.Done()
	}
	out := make([]runtime.Usage, len(tasks))
	for i, task := range tasks {
		out[i] = runtime.Usage{Err: errors.New("no sample")}
		if f.stats != nil {
			out[i] = f.stats(task)
		}
	}
	return out
}

func (f *fakeContainers) Stop(_ context.Context, task string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = append(f.stopped, task)
	return nil
}

func line(second int, text string) runtime.LogLine {
	return runtime.LogLine{Stream: "stdout", At: started.Add(time.Duration(second) * time.Second), Text: text}
}
