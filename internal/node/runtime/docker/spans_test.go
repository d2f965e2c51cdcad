package docker

import (
	"net/http/httptest"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestReadsOfTheEngineHaveNoSpans: the library would make a span for each, in the caller's trace.
func TestReadsOfTheEngineHaveNoSpans(t *testing.T) {
	seen := tracetest.NewSpanRecorder()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen)).Tracer("test").Start(t.Context(),
		"reconcile")
	rt, err := New(ctx, Options{Host: addressOf(namedEngine(t, "engine", httptest.NewServer)), Cluster: "c", Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if _, err := rt.Info(ctx); err != nil {
		t.Fatal(err)
	}
	span.End()
	if got := seen.Ended(); len(got) != 1 {
		t.Errorf("%d spans, the first is %s", len(got), got[0].Name())
	}
}
