package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
)

// former stops what ran here when the node was taken out of the cluster, once the machine is a node of it again. The
// store has given those tasks up and replaced them, so their containers are no quarantine: nothing will ever know them.
type former struct {
	reconciler.Member
	agent *Agent
	// left is set until none of those containers is left.
	left atomic.Bool
	// found are their ids, nil before the engine was asked.
	found map[string]bool
}

func newFormer(a *Agent) *former {
	f := &former{agent: a}
	f.left.Store(len(a.opts.Former) > 0)
	f.Member = reconciler.NewMember(f.run)
	return f
}

// run works until nothing is left, and waits for ctx to end.
func (f *former) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-f.agent.control.Synced(): // before, every task seems unknown
	}
	for wait := firstReconnect; f.left.Load() && ctx.Err() == nil; wait = min(2*wait, lastReconnect) {
		left, err := f.clear(ctx)
		if err == nil && !left {
			err = f.agent.opts.Cleared()
		}
		switch {
		case err == nil && !left:
			f.left.Store(false)
			f.agent.machine.refresh()
			f.agent.wakeAll()
			continue
		case err != nil && ctx.Err() == nil:
			f.agent.log.Warn("what ran here before this machine joined again could not be stopped; tried again",
				"backoff", wait, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	<-ctx.Done()
	return nil
}

// clear stops and removes the containers that were here at first and that the store doesn't know. It reports whether
// one is left. The store may still know one, and forget it a moment later.
func (f *former) clear(ctx context.Context) (left bool, err error) {
	listed, err := f.agent.runtime.List(ctx)
	if err != nil {
		return true, err
	}
	if f.found == nil {
		f.found = map[string]bool{}
		for _, c := range listed {
			f.found[c.ID] = slices.Contains(f.agent.opts.Former, c.Labels[api.LabelNode])
		}
	}
	var mu sync.Mutex
	var faults []error
	var stops recovery.Group
	for _, c := range listed {
		if !f.found[c.ID] {
			continue
		}
		assigned, known := f.agent.control.Task(c.Task())
		left = left || !known || assigned.Task.Desired != api.DesiredRunning
		if known {
			continue
		}
		stops.Go(func() {
			fault := f.discard(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			faults = append(faults, fault)
		})
	}
	stops.Wait()
	return left, errors.Join(faults...)
}

// stops reports whether a container is one that is stopped unless the store knows its task.
func (f *former) stops(c runtime.Container) bool {
	return f.left.Load() && slices.Contains(f.agent.opts.Former, c.Labels[api.LabelNode])
}

func (f *former) discard(ctx context.Context, c runtime.Container) error {
	if err := f.agent.Discard(ctx, c.ID); err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	f.agent.containers.remove(c.ID)
	f.agent.log.Info("removed: it ran here before this machine joined again, and the cluster has replaced it", "container",
		c.Name, "task", c.Task())
	return nil
}

// occupied reports whether a container of another task of an ordinal is still here and about to go: the ordinal was
// given to the new task while this machine was believed to be off, or was not of the cluster.
func (a *Agent) occupied(task api.Task) bool {
	if _, ordinal := task.Ordinal(); !ordinal {
		return false
	}
	for _, c := range a.containers.all() {
		owner := api.Ref{Kind: api.Kind(c.Labels[api.LabelKind]), Scope: c.Labels[api.LabelScope],
			Name: c.Labels[api.LabelName]}
		if c.Task() == task.ID || owner != task.Owner() || c.Labels[api.LabelSlot] != task.Slot {
			continue
		}
		assigned, known := a.control.Task(c.Task())
		if known && assigned.Task.Desired == api.DesiredRemoved || !known && a.former.left.Load() {
			a.successors.add(c.Task(), task.ID)
			return true
		}
	}
	return false
}
