package main

import (
	"context"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// follower keeps the newest form of every deployment from one watch, so that waiting costs the server no polling.
type follower struct {
	watch *client.Watch
	ended chan struct{}

	mu      sync.Mutex
	objects map[string]api.Object
	changed chan struct{} // closed and replaced with every event
	err     error
}

func followDeployments(c *client.Client) *follower {
	f := &follower{
		watch: c.Watch(context.Background(), api.KindDeployment, client.WatchOptions{}),
		ended: make(chan struct{}), objects: map[string]api.Object{}, changed: make(chan struct{}),
	}
	go f.run()
	return f
}

func (f *follower) run() {
	defer close(f.ended)
	for {
		event, err := f.watch.Next()
		f.mu.Lock()
		switch {
		case err != nil:
			f.err = err
		case event.Type == api.WatchDelete:
			delete(f.objects, event.Object.Name)
		case event.Type == api.WatchPut:
			f.objects[event.Object.Name] = *event.Object
		}
		close(f.changed)
		f.changed = make(chan struct{})
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits for a condition on a deployment; found is false before it exists and after it was deleted.
func (f *follower) until(ctx context.Context, name string, holds func(object api.Object, found bool) bool) error {
	for {
		f.mu.Lock()
		object, found := f.objects[name]
		changed, err := f.changed, f.err
		f.mu.Unlock()
		switch {
		case err != nil:
			return err
		case holds(object, found):
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *follower) close() {
	f.watch.Close()
	<-f.ended
}
