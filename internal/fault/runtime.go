package fault

import (
	"context"
	"io"
	"time"

	"tend.dev/tend/internal/runtime"
)

// Runtime adds the points to a runtime: before and after every call, including reads, since an agent decides by them.
func Runtime(inner runtime.Runtime, points *Points) runtime.Runtime {
	if points == nil {
		return inner
	}
	return &faultyRuntime{inner: inner, points: points}
}

type faultyRuntime struct {
	inner  runtime.Runtime
	points *Points
}

// between runs one call with a result between its two points.
func between[T any](ctx context.Context, r *faultyRuntime, verb string, f func(ctx context.Context) (T, error)) (T, error) {
	var answer T
	err := r.points.call(ctx, "runtime."+verb, func(ctx context.Context) (err error) {
		answer, err = f(ctx)
		return err
	})
	return orZero(answer, err), err
}

func (r *faultyRuntime) Info(ctx context.Context) (runtime.Info, error) {
	return between(ctx, r, "info", r.inner.Info)
}

func (r *faultyRuntime) List(ctx context.Context) ([]runtime.Container, error) {
	return between(ctx, r, "list", r.inner.List)
}

func (r *faultyRuntime) Inspect(ctx context.Context, id string) (runtime.Container, error) {
	return between(ctx, r, "inspect", func(ctx context.Context) (runtime.Container, error) { return r.inner.Inspect(ctx, id) })
}

func (r *faultyRuntime) Create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	return between(ctx, r, "create", func(ctx context.Context) (runtime.Container, error) { return r.inner.Create(ctx, spec) })
}

func (r *faultyRuntime) Start(ctx context.Context, id string) error {
	return r.points.call(ctx, "runtime.start", func(ctx context.Context) error { return r.inner.Start(ctx, id) })
}

func (r *faultyRuntime) Stop(ctx context.Context, id string, grace time.Duration) error {
	return r.points.call(ctx, "runtime.stop", func(ctx context.Context) error { return r.inner.Stop(ctx, id, grace) })
}

func (r *faultyRuntime) Remove(ctx context.Context, id string) error {
	return r.points.call(ctx, "runtime.remove", func(ctx context.Context) error { return r.inner.Remove(ctx, id) })
}

func (r *faultyRuntime) EnsureVolume(ctx context.Context, name string, labels map[string]string) error {
	return r.points.call(ctx, "runtime.ensurevolume", func(ctx context.Context) error { return r.inner.EnsureVolume(ctx, name, labels) })
}

func (r *faultyRuntime) RemoveVolume(ctx context.Context, name string) error {
	return r.points.call(ctx, "runtime.removevolume", func(ctx context.Context) error { return r.inner.RemoveVolume(ctx, name) })
}

func (r *faultyRuntime) Resolve(ctx context.Context, reference string) (runtime.Image, error) {
	return between(ctx, r, "resolve", func(ctx context.Context) (runtime.Image, error) { return r.inner.Resolve(ctx, reference) })
}

func (r *faultyRuntime) Pull(ctx context.Context, reference string, progress func(int)) (runtime.Image, error) {
	return between(ctx, r, "pull", func(ctx context.Context) (runtime.Image, error) {
		return r.inner.Pull(ctx, reference, progress)
	})
}

func (r *faultyRuntime) SaveImage(ctx context.Context, id string) (io.ReadCloser, error) {
	return between(ctx, r, "saveimage", func(ctx context.Context) (io.ReadCloser, error) { return r.inner.SaveImage(ctx, id) })
}

func (r *faultyRuntime) LoadImage(ctx context.Context, id string, content io.Reader) error {
	return r.points.call(ctx, "runtime.loadimage", func(ctx context.Context) error { return r.inner.LoadImage(ctx, id, content) })
}

func (r *faultyRuntime) Build(ctx context.Context, spec runtime.BuildSpec, output func(string)) (runtime.Image, error) {
	return between(ctx, r, "build", func(ctx context.Context) (runtime.Image, error) { return r.inner.Build(ctx, spec, output) })
}

func (r *faultyRuntime) Built(ctx context.Context) ([]runtime.BuiltImage, error) {
	return between(ctx, r, "built", r.inner.Built)
}

func (r *faultyRuntime) Tag(ctx context.Context, image, reference string) error {
	return r.points.call(ctx, "runtime.tag", func(ctx context.Context) error { return r.inner.Tag(ctx, image, reference) })
}

func (r *faultyRuntime) Untag(ctx context.Context, reference string) error {
	return r.points.call(ctx, "runtime.untag", func(ctx context.Context) error { return r.inner.Untag(ctx, reference) })
}

func (r *faultyRuntime) Stats(ctx context.Context, id string) (runtime.Stats, error) {
	return between(ctx, r, "stats", func(ctx context.Context) (runtime.Stats, error) { return r.inner.Stats(ctx, id) })
}

func (r *faultyRuntime) WatchProcesses(ctx context.Context, running []runtime.Container, ended func(runtime.Container)) {
	r.inner.WatchProcesses(ctx, running, ended)
}

// Close always reaches the runtime: the machine closes what a dead process held open.
func (r *faultyRuntime) Close() error { return r.inner.Close() }
