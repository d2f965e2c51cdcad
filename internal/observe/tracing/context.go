package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"tend.dev/tend/api"
)

// followed is the time for which a record's trace is followed: later work on a changed record isn't part of the change.
const followed = time.Hour

// header is the W3C header of a trace context, in the form of http.Header.
const header = "traceparent"

var format propagation.TraceContext

// Parent returns the span that led to a record, if that is not too long ago.
func Parent(record *api.Trace, now time.Time) trace.SpanContext {
	if record == nil || now.Sub(record.At) > followed {
		return trace.SpanContext{}
	}
	return parse(record.Parent)
}

// Sender returns the span that led to a request.
func Sender(request http.Header) trace.SpanContext { return parse(request.Get(header)) }

// Inject adds the span of ctx to the header of a request.
func Inject(ctx context.Context, request http.Header) {
	if Traced(ctx) {
		request.Set(header, render(ctx))
	}
}

// Record returns the span of ctx in the form in which a record keeps it; nil outside of a trace.
func Record(ctx context.Context, now time.Time) *api.Trace {
	if !Traced(ctx) {
		return nil
	}
	return &api.Trace{Parent: render(ctx), At: now}
}

func parse(parent string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(format.Extract(context.Background(), propagation.MapCarrier{header: parent}))
}

func render(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	return carrier[header]
}
