package controlplane

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/reconciler"
)

// traced returns the reconciler of a controller whose reconciles are part of the trace that led to them: that of the
// object's last write, and for the scheduler that of a task that waits for a node.
func (p *Plane) traced(c control.Controller) reconciler.Reconciler {
	if p.Tracer == nil {
		return c
	}
	name := "reconcile " + c.Name()
	return reconciler.Func(func(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
		ctx, work := p.Tracer.Follow(ctx, p.parent(key), name,
			attribute.String("tend.kind", key.Kind), attribute.String("tend.scope", key.Scope),
			attribute.String("tend.name", key.Name))
		result, err := c.Reconcile(ctx, key)
		work.End(err)
		return result, err
	})
}

func (p *Plane) parent(key reconciler.Key) trace.SpanContext {
	snapshot, now := p.snapshot(), p.Now()
	if object := snapshot.Object(api.Ref{Kind: api.Kind(key.Kind), Scope: key.Scope, Name: key.Name}); object.Exists() {
		return tracing.Parent(object.Value.Metadata.Trace, now)
	}
	if key.Kind != scheduled {
		return trace.SpanContext{}
	}
	for _, task := range snapshot.Tasks() {
		if parent := tracing.Parent(task.Value.Trace, now); task.Value.Node == "" && parent.IsValid() {
			return parent
		}
	}
	return trace.SpanContext{}
}

// scheduled is the kind of the scheduler's one key.
const scheduled = "schedule"
