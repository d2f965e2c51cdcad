// Package measured counts and times every call of a container runtime. Each call that changes a container becomes a
// step of its trace. It changes no answer and decides nothing.
package measured

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/observe/telemetry"
	"tend.dev/tend/internal/observe/tracing"
)

// Metrics are the metrics of a runtime. Create them with NewMetrics.
type Metrics struct{ calls *telemetry.Calls }

// NewMetrics registers the metrics of a runtime.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	return &Metrics{telemetry.NewCalls(registry, telemetry.CallOptions{
		Name: "container runtime", Duration: "tend_runtime_request_duration_seconds", Errors: "tend_runtime_request_errors_total",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to 65 s
		Operations: []string{"info", "list", "inspect", "create", "start", "stop", "remove", "ensure_volume", "remove_volume",
			"resolve", "pull", "save_image", "load_image", "build", "stats"},
		Failures: map[string][]string{"info": {"unavailable"}, "list": {"unavailable"}, "create": {"unavailable"}, "start": {"unavailable"}},
	})}
}

// Runtime returns a runtime that measures every call, except streams. It returns inner itself if metrics is nil.
func Runtime(inner runtime.Runtime, metrics *Metrics) runtime.Runtime {
	if metrics == nil {
		return inner
	}
	return runtime.Around(inner, metrics.measure)
}

// changes are the calls that change a container or an image. Each is a step of its trace.
var changes = map[string]bool{
	"create": true, "start": true, "stop": true, "remove": true, "ensure_volume": true, "remove_volume": true, "pull": true,
	"load_image": true, "build": true,
}

// measure runs and measures one call. Operations that only name images are not measured.
func (m *Metrics) measure(ctx context.Context, operation string, call func(context.Context) error) error {
	if !m.calls.Has(operation) {
		return call(ctx)
	}
	end := func(error) {}
	if changes[operation] {
		ctx, end = tracing.Step(ctx, "runtime."+operation)
	}
	began := time.Now()
	err := call(ctx)
	m.calls.Observe(operation, began, runtimeFailure(err))
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
