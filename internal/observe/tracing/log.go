package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

type requestKey struct{}

// WithRequest returns a context whose log lines carry the id of a request.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Request returns the id of the request that ctx belongs to; empty outside of one.
func Request(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// LogHandler adds to each line the id of the request in its context, and the id of the trace if it is exported.
func LogHandler(inner slog.Handler) slog.Handler { return logHandler{inner} }

// logHandler is the handler that LogHandler returns.
type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, line slog.Record) error {
	if ctx == nil {
		return h.Handler.Handle(ctx, line)
	}
	if id := Request(ctx); id != "" {
		line.AddAttrs(slog.String("request", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		line.AddAttrs(slog.String("trace", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
