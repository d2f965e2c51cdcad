package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/observe/tracing"
)

// RuntimeMetrics are the metrics of a runtime. Create them with NewRuntimeMetrics.
type RuntimeMetrics struct{ calls *calls }

// NewRuntimeMetrics registers the metrics of a runtime.
func NewRuntimeMetrics(registry prometheus.Registerer) *RuntimeMetrics {
	return &RuntimeMetrics{newCalls(registry, callOptions{
		name: "container runtime", duration: "tend_runtime_request_duration_seconds", errors: "tend_runtime_request_errors_total",
		buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to 65 s
		operations: []string{"info", "list", "inspect", "create", "start", "stop", "remove", "ensure_volume", "remove_volume",
			"resolve", "pull", "save_image", "load_image", "build", "stats"},
		failures: map[string][]string{"info": {"unavailable"}, "list": {"unavailable"}, "create": {"unavailable"}, "start": {"unavailable"}},
	})}
}

// Runtime returns a runtime that measures every call, except streams. It returns inner itself if metrics is nil.
func Runtime(inner runtime.Runtime, metrics *RuntimeMetrics) runtime.Runtime {
	if metrics == nil {
		return inner
	}
	return runtime.Around(inner, metrics.measure)
}

// changes are the calls that change something. Each is a step of its trace.
var changes = map[string]bool{
	"create": true, "start": true, "stop": true, "remove": true, "ensure_volume": true, "remove_volume": true, "pull": true,
	"load_image": true, "build": true,
}

// measure runs and measures one call. Operations that only name images are not measured.
func (m *RuntimeMetrics) measure(ctx context.Context, operation string, call func(context.Context) error) error {
	if !m.calls.has(operation) {
		return call(ctx)
	}
	end := func(error) {}
	if changes[operation] {
		ctx, end = tracing.Step(ctx, "runtime."+operation)
	}
	began := time.Now()
	err := call(ctx)
	m.calls.observe(operation, began, runtimeFailure(err))
	end(err)
	return err
}

// runtimeFailure returns the label of an error's kind; empty for none. A missing container or image is an answer and
// doesn't count as a failure.
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
