//go:build linux

package process

import (
	"context"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/journal"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// logReader reads a container's journal as the runtime's lines.
type logReader struct{ *journal.Reader }

// Logs implements runtime.Runtime. A followed log ends when the container has stopped for good.
func (r *Runtime) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogReader, error) {
	dir, _, err := r.find(ctx, id)
	if err != nil {
		return nil, err
	}
	wanted := journal.ReadOptions{Since: opts.Since, Tail: opts.Tail}
	if opts.Follow {
		wanted.Follow = func() bool {
			status, err := shim.ReadStatus(dir)
			return err == nil && status.Active() && r.ctx.Err() == nil
		}
	}
	reader, err := journal.Read(ctx, dir, wanted)
	if err != nil {
		return nil, err
	}
	return logReader{reader}, nil
}

// Next implements runtime.LogReader.
func (l logReader) Next() (runtime.LogLine, error) {
	line, err := l.Reader.Next()
	return runtime.LogLine{Stream: line.Stream, At: line.Time, Text: line.Text, Part: line.Part}, err
}
