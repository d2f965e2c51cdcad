package fault

import (
	"context"

	"tend.dev/tend/internal/node/runtime"
)

// The streams of Events, Logs and Exec outlive the call. They end at the crash.

func (r *faultyRuntime) Events(ctx context.Context) (<-chan runtime.Event, error) {
	return open(ctx, r, "events", r.Runtime.Events, func(<-chan runtime.Event) {})
}

func (r *faultyRuntime) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogReader, error) {
	return open(ctx, r, "logs", func(ctx context.Context) (runtime.LogReader, error) {
		return r.Runtime.Logs(ctx, id, opts)
	}, func(logs runtime.LogReader) { _ = logs.Close() })
}

func (r *faultyRuntime) Exec(ctx context.Context, id string, opts runtime.ExecOptions) (runtime.Exec, error) {
	return open(ctx, r, "exec", func(ctx context.Context) (runtime.Exec, error) {
		return r.Runtime.Exec(ctx, id, opts)
	}, func(exec runtime.Exec) { _ = exec.Close() })
}

// open opens a stream between two points. The stream's context outlives the call; it ends with the caller's context or
// at the crash. If a crash keeps a stream from its caller, open closes it.
func open[T any](
	ctx context.Context, r *faultyRuntime, verb string, f func(ctx context.Context) (T, error), end func(T),
) (T, error) {
	ctx, release := r.points.mortal(ctx)
	var opened T
	made := false
	err := r.points.call(ctx, "runtime."+verb, func(context.Context) (err error) {
		opened, err = f(ctx)
		made = err == nil
		return err
	})
	if err != nil {
		if made {
			end(opened)
		}
		release()
	}
	return orZero(opened, err), err
}
