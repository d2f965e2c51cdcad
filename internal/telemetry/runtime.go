package telemetry

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/tracing"
)

// The operations of a runtime, as labels and in the names of spans.
const (
	opInfo         = "info"
	opInspect      = "inspect"
	opCreate       = "create"
	opStart        = "start"
	opStop         = "stop"
	opRemove       = "remove"
	opEnsureVolume = "ensure_volume"
	opRemoveVolume = "remove_volume"
	opResolve      = "resolve"
	opPull         = "pull"
	opSaveImage    = "save_image"
	opLoadImage    = "load_image"
	opBuild        = "build"
	opStats        = "stats"
)

// RuntimeMetrics are the metrics of a runtime. Create them with NewRuntimeMetrics.
type RuntimeMetrics struct{ calls *calls }

// NewRuntimeMetrics registers the metrics of a runtime.
func NewRuntimeMetrics(registry prometheus.Registerer) *RuntimeMetrics {
	return &RuntimeMetrics{newCalls(registry, border{
		name: "container runtime", duration: "tend_runtime_request_duration_seconds", errors: "tend_runtime_request_errors_total",
		buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to 65 s
		operations: []string{opInfo, opList, opInspect, opCreate, opStart, opStop, opRemove, opEnsureVolume, opRemoveVolume,
			opResolve, opPull, opSaveImage, opLoadImage, opBuild, opStats},
		failures: map[string][]string{opInfo: {"unavailable"}, opList: {"unavailable"}, opCreate: {"unavailable"}, opStart: {"unavailable"}},
	})}
}

// Runtime adds measuring to a runtime. It returns the runtime itself where metrics is nil.
func Runtime(inner runtime.Runtime, metrics *RuntimeMetrics) runtime.Runtime {
	if metrics == nil {
		return inner
	}
	return &measuredRuntime{inner, metrics}
}

// measuredRuntime measures calls; streams, and commands in containers, last as long as their users want and are not measured.
type measuredRuntime struct {
	runtime.Runtime
	metrics *RuntimeMetrics
}

// Unwrap returns the runtime that is measured; see runtime.As.
func (r *measuredRuntime) Unwrap() runtime.Runtime { return r.Runtime }

// read runs a call that changes nothing.
func read[T any](r *measuredRuntime, operation string, f func() (T, error)) (T, error) {
	began := time.Now()
	answer, err := f()
	r.metrics.calls.observe(operation, began, runtimeFailure(err))
	return answer, err
}

// change runs a call that changes something: a step of its trace.
func change[T any](ctx context.Context, r *measuredRuntime, operation string, f func(ctx context.Context) (T, error)) (T, error) {
	ctx, end := tracing.Step(ctx, "runtime."+operation)
	answer, err := read(r, operation, func() (T, error) { return f(ctx) })
	end(err)
	return answer, err
}

// alone is change without an answer.
func alone(ctx context.Context, r *measuredRuntime, operation string, f func(ctx context.Context) error) error {
	_, err := change(ctx, r, operation, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

func (r *measuredRuntime) Info(ctx context.Context) (runtime.Info, error) {
	return read(r, opInfo, func() (runtime.Info, error) { return r.Runtime.Info(ctx) })
}

func (r *measuredRuntime) List(ctx context.Context) ([]runtime.Container, error) {
	return read(r, opList, func() ([]runtime.Container, error) { return r.Runtime.List(ctx) })
}

func (r *measuredRuntime) Inspect(ctx context.Context, id string) (runtime.Container, error) {
	return read(r, opInspect, func() (runtime.Container, error) { return r.Runtime.Inspect(ctx, id) })
}

func (r *measuredRuntime) Create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	return change(ctx, r, opCreate, func(ctx context.Context) (runtime.Container, error) { return r.Runtime.Create(ctx, spec) })
}

func (r *measuredRuntime) Start(ctx context.Context, id string) error {
	return alone(ctx, r, opStart, func(ctx context.Context) error { return r.Runtime.Start(ctx, id) })
}

func (r *measuredRuntime) Stop(ctx context.Context, id string, grace time.Duration) error {
	return alone(ctx, r, opStop, func(ctx context.Context) error { return r.Runtime.Stop(ctx, id, grace) })
}

func (r *measuredRuntime) Remove(ctx context.Context, id string) error {
	return alone(ctx, r, opRemove, func(ctx context.Context) error { return r.Runtime.Remove(ctx, id) })
}

func (r *measuredRuntime) EnsureVolume(ctx context.Context, name string, labels map[string]string) error {
	return alone(ctx, r, opEnsureVolume, func(ctx context.Context) error { return r.Runtime.EnsureVolume(ctx, name, labels) })
}

func (r *measuredRuntime) RemoveVolume(ctx context.Context, name string) error {
	return alone(ctx, r, opRemoveVolume, func(ctx context.Context) error { return r.Runtime.RemoveVolume(ctx, name) })
}

func (r *measuredRuntime) Resolve(ctx context.Context, reference string) (runtime.Image, error) {
	return read(r, opResolve, func() (runtime.Image, error) { return r.Runtime.Resolve(ctx, reference) })
}

func (r *measuredRuntime) Pull(ctx context.Context, reference string, progress func(int)) (runtime.Image, error) {
	return change(ctx, r, opPull, func(ctx context.Context) (runtime.Image, error) { return r.Runtime.Pull(ctx, reference, progress) })
}

func (r *measuredRuntime) SaveImage(ctx context.Context, id string) (io.ReadCloser, error) {
	return read(r, opSaveImage, func() (io.ReadCloser, error) { return r.Runtime.SaveImage(ctx, id) })
}

func (r *measuredRuntime) LoadImage(ctx context.Context, id string, content io.Reader) error {
	return alone(ctx, r, opLoadImage, func(ctx context.Context) error { return r.Runtime.LoadImage(ctx, id, content) })
}

func (r *measuredRuntime) Build(ctx context.Context, spec runtime.BuildSpec, output func(string)) (runtime.Image, error) {
	return change(ctx, r, opBuild, func(ctx context.Context) (runtime.Image, error) { return r.Runtime.Build(ctx, spec, output) })
}

func (r *measuredRuntime) Stats(ctx context.Context, id string) (runtime.Stats, error) {
	return read(r, opStats, func() (runtime.Stats, error) { return r.Runtime.Stats(ctx, id) })
}

// runtimeFailure names the kind of an error, as a label; empty for none. A container or an image that is not there is an
// answer.
func runtimeFailure(err error) string {
	var rejected *runtime.RejectedError
	switch {
	case err == nil, errors.Is(err, runtime.ErrNotFound):
		return ""
	case errors.Is(err, runtime.ErrUnavailable):
		return "unavailable"
	case errors.As(err, &rejected), errors.Is(err, runtime.ErrNameTaken):
		return "rejected"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "other"
}
