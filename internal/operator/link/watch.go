package link

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/puller"
)

// watch sends each transition of a condition while a puller runs. The next snapshot has those of other times.
func (c *Connection) watch(ctx context.Context) error {
	for _, kind := range []string{kindInstance.Kind, kindOperation.Kind} {
		object, err := watched(kind)
		if err != nil {
			return err
		}
		informer, err := c.Cache.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(now any, initial bool) {
				if !initial {
					c.transition(nil, now)
				}
			},
			UpdateFunc: c.transition,
			DeleteFunc: c.deleted,
		}); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}
	return nil
}

// transition sends the changes of an object, and makes the puller observe the objects that it tracks.
func (c *Connection) transition(before, now any) {
	object, ok := now.(client.Object)
	to := c.current()
	if !ok || to == nil {
		return
	}
	to.Changed(resourceOf(object))
	if !isReported(object) {
		return
	}
	var was puller.Observation
	if old, ok := before.(client.Object); ok {
		was = observationOf(old)
	}
	for _, event := range changes(was, observationOf(object), c.Now()) {
		to.Emit(event)
	}
	to.Moved()
}

// deleted makes the puller observe the objects that it tracks, and compare the deleted one with what was applied.
func (c *Connection) deleted(last any) {
	if unknown, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
		last = unknown.Obj
	}
	to := c.current()
	if to == nil {
		return
	}
	if object, ok := last.(client.Object); ok {
		to.Changed(resourceOf(object))
	}
	to.Moved()
}
