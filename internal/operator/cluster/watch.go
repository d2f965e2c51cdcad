package cluster

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/agent"
)

// watch has each transition of a condition sent, while an agent runs. What happens while none does is in the next snapshot.
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
			DeleteFunc: func(any) { c.moved() },
		}); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}
	return nil
}

// transition sends what has changed of an object, and has the agent observe what it waits for.
func (c *Connection) transition(before, now any) {
	object, ok := now.(client.Object)
	to := c.current()
	if !ok || to == nil || !isReported(object) {
		return
	}
	var was agent.Observation
	if old, ok := before.(client.Object); ok {
		was = observationOf(old)
	}
	for _, event := range changes(was, observationOf(object), c.Now()) {
		to.Emit(event)
	}
	to.Moved()
}

func (c *Connection) moved() {
	if to := c.current(); to != nil {
		to.Moved()
	}
}
