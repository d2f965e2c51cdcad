package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are the options of a Tracer.
type Options struct {
	// Endpoint is the URL of an OTLP receiver over HTTP, as in http://127.0.0.1:4318; /v1/traces is added if it has no
	// path. Default: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT; without one tracing is off. The
	// other variables of OpenTelemetry (OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, …) count too.
	Endpoint string
	// Service is the name of the program ("tend-server"), Instance the name of this process among several, Version its
	// version.
	Service, Instance, Version string
	// Logger gets a line when spans can't be exported. Default slog.Default.
	Logger *slog.Logger
}

// Tracer starts spans. A nil Tracer starts none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// ErrEndpoint is the error of an endpoint that isn't the URL of an HTTP server.
var ErrEndpoint = errors.New("not the URL of an OTLP receiver over HTTP, as in http://127.0.0.1:4318")

// Open returns a Tracer that exports, or nil if no endpoint is configured. It contacts nothing yet.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	to, err := target(o.Endpoint)
	if err != nil || to == nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	reportErrors(o.Logger)
	return New(sdktrace.NewBatchSpanProcessor(exporter), o), nil
}

// target returns the options of the exporter; nil is off. An empty list leaves the endpoint to OpenTelemetry's
// variables.
func target(endpoint string) ([]otlptracehttp.Option, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	if endpoint == "" {
		if os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
			return nil, nil
		}
		return []otlptracehttp.Option{}, nil
	}
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, fmt.Errorf("%q: %w", endpoint, ErrEndpoint)
	}
	if strings.Trim(parsed.Path, "/") == "" {
		parsed.Path = "/v1/traces"
	}
	return []otlptracehttp.Option{otlptracehttp.WithEndpointURL(parsed.String())}, nil
}

// New returns a Tracer that passes its spans to a processor. Sampling follows OTEL_TRACES_SAMPLER; by default every
// trace is kept.
func New(processor sdktrace.SpanProcessor, o Options) *Tracer {
	about := resource.NewSchemaless(
		attribute.String("service.name", o.Service), attribute.String("service.instance.id", o.Instance),
		attribute.String("service.version", o.Version))
	if merged, err := resource.Merge(resource.Environment(), about); err == nil {
		about = merged
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor), sdktrace.WithResource(about))
	return &Tracer{provider: provider, tracer: provider.Tracer("tend.dev/tend")}
}

// Close exports the remaining spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// reportErrors logs errors of the export, which OpenTelemetry reports to a function of the process, at most once a
// minute.
func reportErrors(log *slog.Logger) {
	if log == nil {
		log = slog.Default()
	}
	var last atomic.Int64
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		now, before := time.Now().Unix(), last.Load()
		if now-before >= 60 && last.CompareAndSwap(before, now) {
			log.Warn("traces can't be exported; spans are lost, nothing else is", "error", err)
		}
	}))
}
