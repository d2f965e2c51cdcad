package measured

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/observe/tracing"
)

// particular is a runtime with an optional ability.
type particular struct{ runtime.Runtime }

func (particular) Particular() string { return "here" }

func TestAMeasuredRuntimeCanBeSeenThrough(t *testing.T) {
	seen := Runtime(particular{}, NewMetrics(prometheus.NewRegistry()))
	if found, ok := runtime.As[interface{ Particular() string }](seen); !ok || found.Particular() != "here" {
		t.Error("what the runtime can do besides is hidden")
	}
	if _, ok := runtime.As[interface{ Absent() }](seen); ok {
		t.Error("it is said to do what it can't")
	}
}

// TestChangesAreSteps: a call that changes a container is a step of the trace, even if it fails; a read isn't. All
// calls are timed.
func TestChangesAreSteps(t *testing.T) {
	engine := hollow.NewEngine()
	defer engine.Close()
	registry, recorder := prometheus.NewRegistry(), tracetest.NewSpanRecorder()
	r := Runtime(engine.Client("c", "n1"), NewMetrics(registry))
	ctx, work := tracing.New(recorder, tracing.Options{}).Work(context.Background(), trace.SpanContext{}, "work")
	if _, err := r.List(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Pull(ctx, runtime.PullSpec{Reference: "no.such/image:1"}, func(int) {}); err == nil {
		t.Fatal("an image that there isn't was pulled")
	}
	work.End(nil)
	spans := recorder.Ended()
	if len(spans) != 2 || spans[0].Name() != "runtime.pull" || spans[0].Status().Code.String() != "Error" || spans[1].Name() != "work" {
		t.Errorf("the spans are %v", namesOf(spans))
	}
	for _, operation := range []string{"list", "pull"} {
		if count := timed(t, registry, operation); count != 1 {
			t.Errorf("%s was measured %d times", operation, count)
		}
	}
}

// timed returns the number of timed calls of an operation.
func timed(t *testing.T, registry *prometheus.Registry, operation string) uint64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "tend_runtime_request_duration_seconds" && metric.GetLabel()[0].GetValue() == operation {
				return metric.GetHistogram().GetSampleCount()
			}
		}
	}
	return 0
}

func namesOf(spans []sdktrace.ReadOnlySpan) (out []string) {
	for _, span := range spans {
		out = append(out, span.Name())
	}
	return out
}

func TestKindsOfErrorsAreFew(t *testing.T) {
	for err, want := range map[error]string{
		nil:                    "",
		runtime.ErrNotFound:    "",
		runtime.ErrUnavailable: "unavailable",
		runtime.ErrNameTaken:   "rejected",
		context.Canceled:       "canceled",
		errors.New("any text"): "other",
	} {
		if got := runtimeFailure(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
