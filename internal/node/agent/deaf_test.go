package agent_test

import (
	"context"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// deaf is a runtime that loses events and answers on request, and returns output as slowly as is set.
type deaf struct {
	*hollow.Runtime
	events      *atomic.Bool
	mute        *atomic.Bool
	outputDelay *atomic.Int64
	writers     func(context.Context) error
	pulled      func(runtime.PullSpec)
	looking     *atomic.Int64
	// brief is set while each stream of events ends at once; streams counts them.
	brief   *atomic.Bool
	streams *atomic.Int64
}

// Resolve answers so long after it has looked as is set.
func (d *deaf) Resolve(ctx context.Context, reference string) (runtime.Image, error) {
	image, err := d.Runtime.Resolve(ctx, reference)
	<-time.After(time.Duration(d.looking.Load())) // the bubble's clock
	return image, err
}

// Pull notes in harness.pulled, if it is set, what is pulled.
func (d *deaf) Pull(ctx context.Context, spec runtime.PullSpec, progress func(int)) (runtime.Image, error) {
	if d.pulled != nil {
		d.pulled(spec)
	}
	return d.Runtime.Pull(ctx, spec, progress)
}

// SecondWriters asks harness.writers first, if it is set.
func (d *deaf) SecondWriters(ctx context.Context) (map[string]volumes.Writer, error) {
	if d.writers != nil {
		if err := d.writers(ctx); err != nil {
			return nil, err
		}
	}
	return d.Runtime.SecondWriters(ctx)
}

func (d *deaf) Create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	made, err := d.Runtime.Create(ctx, spec)
	if err == nil && d.mute.Load() {
		return runtime.Container{}, runtime.ErrUnavailable
	}
	return made, err
}

func (d *deaf) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogReader, error) {
	select {
	case <-time.After(time.Duration(d.outputDelay.Load())):
		return d.Runtime.Logs(ctx, id, opts)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *deaf) Events(ctx context.Context) (<-chan runtime.Event, error) {
	from, err := d.Runtime.Events(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan runtime.Event)
	d.streams.Add(1)
	go func() {
		defer close(out)
		if d.brief.Load() {
			<-time.After(time.Millisecond) // the bubble's clock
			return
		}
		for event := range from {
			if d.events.Load() {
				continue
			}
			select {
			case out <- event:
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}
