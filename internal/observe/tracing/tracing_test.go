package tracing

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"tend.dev/tend/api"
)

var begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func tracer(t *testing.T) (*Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	return New(recorder, Options{Service: "test"}), recorder
}

func names(spans []sdktrace.ReadOnlySpan) string {
	var out []string
	for _, span := range spans {
		out = append(out, span.Name())
	}
	return strings.Join(out, ", ")
}

func TestOnlyWorkWithAnEffectIsExported(t *testing.T) {
	for reason, test := range map[string]struct {
		do   func(context.Context, *Work) error
		want string
	}{
		"it did nothing": {func(context.Context, *Work) error { return nil }, ""},
		"it failed":      {func(context.Context, *Work) error { return errors.New("no") }, "work"},
		"it was kept":    {func(_ context.Context, w *Work) error { w.Keep(); return nil }, "work"},
		"it took a step": {func(ctx context.Context,
			_ *Work) error {
			_, end := Step(ctx, "step")
			end(nil)
			return nil
		}, "step, work"},
		"a note isn't an effect": {func(ctx context.Context, _ *Work) error { Note(ctx, "action", "none"); return nil },
			""},
		"something goes on from it": {func(ctx context.Context,
			_ *Work) error {
			Join(context.Background(), ctx)
			return nil
		}, "work"},
	} {
		tr, recorder := tracer(t)
		ctx, work := tr.Work(context.Background(), trace.SpanContext{}, "work")
		work.End(test.do(ctx, work))
		if got := names(recorder.Ended()); got != test.want {
			t.Errorf("%s: spans %q, want %q", reason, got, test.want)
		}
	}
}

func TestRecordsAreFollowedForAnHour(t *testing.T) {
	tr, recorder := tracer(t)
	ctx, _ := tr.Work(context.Background(), trace.SpanContext{}, "first")
	record := Record(ctx, begun)
	for after, follows := range map[time.Duration]bool{0: true, time.Hour: true, time.Hour + time.Second: false} {
		if got := Parent(record, begun.Add(after)).TraceID() == trace.SpanContextFromContext(ctx).TraceID(); got != follows {
			t.Errorf("after %s: followed: %v, want %v", after, got, follows)
		}
	}
	_, work := tr.Follow(context.Background(), Parent(record, begun), "second")
	work.Keep()
	work.End(nil)
	if got := recorder.Ended()[0].Parent().SpanID(); got != trace.SpanContextFromContext(ctx).SpanID() {
		t.Errorf("the second span's parent is %s", got)
	}
	if _, none := tr.Follow(context.Background(), Parent(nil, begun), "third"); none != nil {
		t.Error("work without a trace to follow began one")
	}
	if got := Parent(&api.Trace{Parent: "nonsense", At: begun}, begun); got.IsValid() {
		t.Errorf("nonsense names the span %v", got)
	}
}

func TestTheHeaderCarriesTheSpan(t *testing.T) {
	tr, _ := tracer(t)
	ctx, _ := tr.Work(context.Background(), trace.SpanContext{}, "first")
	header := http.Header{}
	Inject(ctx, header)
	if got := Sender(header); got.SpanID() != trace.SpanContextFromContext(ctx).SpanID() || !got.IsRemote() {
		t.Errorf("the header %q names %v", header.Get("traceparent"), got)
	}
	none := http.Header{}
	if Inject(context.Background(), none); len(none) != 0 {
		t.Errorf("outside of a trace the header is %v", none)
	}
}

// Off costs nothing: no span, no allocation.
func TestANilTracerDoesNothing(t *testing.T) {
	var off *Tracer
	ctx := context.Background()
	allocations := testing.AllocsPerRun(100, func() {
		ctx, work := off.Work(ctx, trace.SpanContext{}, "work")
		_, end := Step(ctx, "step")
		end(nil)
		Note(ctx, "action", "create")
		if Record(ctx, begun) != nil || Traced(ctx) {
			t.Error("a record has a trace")
		}
		work.Keep()
		work.End(nil)
	})
	if allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
	if err := off.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestOpenNeedsAnEndpoint(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_SDK_DISABLED"} {
		t.Setenv(name, "")
	}
	open := func(endpoint string) *Tracer {
		t.Helper()
		tr, err := Open(context.Background(), Options{Endpoint: endpoint})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	if open("") != nil {
		t.Error("traces are exported though nothing says where to")
	}
	if open("http://127.0.0.1:1") == nil {
		t.Error("an endpoint is ignored")
	}
	for _, wrong := range []string{"127.0.0.1:4318", "unix:///run/otlp", "http://"} {
		if _, err := Open(context.Background(), Options{Endpoint: wrong}); !errors.Is(err, ErrEndpoint) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	if open("") == nil {
		t.Error("OTEL_EXPORTER_OTLP_ENDPOINT is ignored")
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if open("") != nil {
		t.Error("OTEL_SDK_DISABLED is ignored")
	}
}

func TestLogLinesCarryRequestAndTrace(t *testing.T) {
	tr, _ := tracer(t)
	var out bytes.Buffer
	log := slog.New(LogHandler(slog.NewTextHandler(&out, nil))).With("node", "n1")
	ctx, _ := tr.Work(WithRequest(context.Background(), "r-1"), trace.SpanContext{}, "work")
	log.InfoContext(ctx, "inside")
	log.InfoContext(context.Background(), "outside")
	inside, outside, _ := strings.Cut(out.String(), "\n")
	if want := "node=n1 request=r-1 trace=" +
		trace.SpanContextFromContext(ctx).TraceID().String(); !strings.HasSuffix(inside, want) {
		t.Errorf("%q, want it to end in %q", inside, want)
	}
	if strings.Contains(outside, "request=") || strings.Contains(outside, "trace=") {
		t.Errorf("outside of a request: %q", outside)
	}
}
