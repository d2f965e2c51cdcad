package agent

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/reconciler"
)

// tracedTask reconciles a task as part of the trace that led to it.
func (a *Agent) tracedTask(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
	if a.opts.Tracer == nil {
		return a.reconcileTask(ctx, key)
	}
	assigned, _ := a.control.Task(key.Name)
	task := assigned.Task
	ctx, work := a.opts.Tracer.Follow(ctx, tracing.Parent(task.Trace, a.now()), "reconcile "+kindTask,
		append(objectAttributes(task.Owner()),
			attribute.String("tend.pod", task.ContainerName()), attribute.String("tend.node", a.opts.Node))...)
	result, err := a.reconcileTask(ctx, key)
	work.End(err)
	return result, err
}

// tracedImage answers an image request as part of the trace that led to it.
func (a *Agent) tracedImage(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
	if a.opts.Tracer == nil {
		return a.reconcileImage(ctx, key)
	}
	request := a.control.Image(imageOwner(key)).Request
	ctx, work := a.opts.Tracer.Follow(ctx, tracing.Parent(request.Trace, a.now()), "reconcile "+kindImage,
		append(objectAttributes(request.Owner),
			attribute.String("tend.image", request.Image), attribute.String("tend.node", a.opts.Node))...)
	result, err := a.reconcileImage(ctx, key)
	work.End(err)
	return result, err
}

func objectAttributes(ref api.Ref) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("tend.kind", string(ref.Kind)), attribute.String("tend.scope", ref.Scope),
		attribute.String("tend.name", ref.Name),
	}
}
