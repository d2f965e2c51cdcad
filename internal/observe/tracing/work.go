package tracing

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Work is a piece of work with a span that is exported only if it had an effect: a span that is never ended is never
// exported. A nil Work does nothing.
type Work struct {
	span trace.Span
	kept atomic.Bool
}

type workKey struct{}

// Work begins a piece of work caused by parent; see Parent. Without a parent it begins a trace.
func (t *Tracer) Work(
	ctx context.Context, parent trace.SpanContext, name string, attributes ...attribute.KeyValue,
) (context.Context, *Work) {
	if t == nil {
		return ctx, nil
	}
	options := []trace.SpanStartOption{trace.WithAttributes(attributes...)}
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else {
		options = append(options, trace.WithNewRoot())
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	work := &Work{span: span}
	return context.WithValue(ctx, workKey{}, work), work
}

// Follow is Work for work that is only ever part of a trace: without a parent it makes no span.
func (t *Tracer) Follow(
	ctx context.Context, parent trace.SpanContext, name string, attributes ...attribute.KeyValue,
) (context.Context, *Work) {
	if t == nil || !parent.IsValid() {
		return ctx, nil
	}
	return t.Work(ctx, parent, name, attributes...)
}

// Keep exports the span whether or not the work has an effect.
func (w *Work) Keep() {
	if w != nil {
		w.kept.Store(true)
	}
}

// End ends the work, and exports its span if it had an effect or failed.
func (w *Work) End(err error) {
	if w == nil || err == nil && !w.kept.Load() {
		return
	}
	end(w.span, err)
}

func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Traced reports whether ctx belongs to a trace that is exported.
func Traced(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsSampled() }

// Step begins an effect of the work in ctx, as a span that end ends. Outside of a trace it does nothing.
func Step(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, func(error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.SpanContext().IsSampled() {
		return ctx, func(error) {}
	}
	keep(ctx)
	ctx, span := parent.TracerProvider().Tracer("tend.dev/tend").Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, func(err error) { end(span, err) }
}

// Note records a decision in the span of ctx. event is one of a few words, such as the action of a plan.
func Note(ctx context.Context, event, text string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent(event, trace.WithAttributes(attribute.String("tend."+event, text)))
	}
}

// Join returns ctx as part of the trace of from, for work that continues after the work of from has ended. The span of
// that work is kept.
func Join(ctx, from context.Context) context.Context {
	span := trace.SpanFromContext(from)
	if !span.SpanContext().IsSampled() {
		return ctx
	}
	keep(from)
	return trace.ContextWithSpan(ctx, span)
}

func keep(ctx context.Context) {
	if work, ok := ctx.Value(workKey{}).(*Work); ok {
		work.Keep()
	}
}
