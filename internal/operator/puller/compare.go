package puller

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/platform/delay"
)

// The intervals of comparing, and its bounds: how often everything is compared without a notice, how often to check for
// room among the events, how many of them may wait before another is added, and how many resources are compared at a
// time. A comparison waits for the cache, or for the API server.
const (
	sweepEvery = time.Minute
	roomEvery  = 200 * time.Millisecond
	room       = 500
	comparing  = 8
)

// intents holds the manifests to compare the cluster with: those of finished jobs, and of jobs that were in conflict.
type intents struct {
	mu sync.Mutex
	by map[api.ClusterResource]*intent
	// changed are the resources to compare. since are the resources of jobs that were done since the last listing began.
	changed, since map[api.ClusterResource]bool
	// wake holds a token if there is something to compare, or to list again.
	wake   chan struct{}
	listed bool
}

// intent records what one job applied.
type intent struct {
	key      string
	manifest json.RawMessage
	// said is the last reported state, or nil.
	said *pull.State
	uid  string
}

func newIntents() *intents {
	return &intents{
		by: map[api.ClusterResource]*intent{}, changed: map[api.ClusterResource]bool{}, since: map[api.ClusterResource]bool{},
		wake: make(chan struct{}, 1),
	}
}

// nameOf returns a resource without the fields that change with each write.
func nameOf(r api.ClusterResource) api.ClusterResource {
	r.UID, r.Generation = "", 0
	return r
}

// done records the request of a job.
func (i *intents) done(key string, task task) {
	i.mu.Lock()
	defer i.mu.Unlock()
	name := nameOf(task.ref)
	i.since[name] = true
	if task.delete {
		delete(i.by, name)
		return
	}
	i.by[name] = &intent{key: key, manifest: task.manifest}
	i.mark(name)
}

// mark schedules a resource for comparing. The caller holds mu.
func (i *intents) mark(name api.ClusterResource) {
	i.changed[name] = true
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// next returns the resources to compare, each with what was applied.
func (i *intents) next() map[api.ClusterResource]intent {
	i.mu.Lock()
	defer i.mu.Unlock()
	due := map[api.ClusterResource]intent{}
	for name := range i.changed {
		if found := i.by[name]; found != nil {
			due[name] = *found
		}
	}
	clear(i.changed)
	return due
}

// sweep schedules all resources for comparing.
func (i *intents) sweep() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for name := range i.by {
		i.mark(name)
	}
}

// Changed schedules a resource that may have changed or is gone: it is compared with what was applied.
func (p *Puller) Changed(r api.ClusterResource) {
	p.intents.mu.Lock()
	defer p.intents.mu.Unlock()
	if name := nameOf(r); p.intents.by[name] != nil {
		p.intents.mark(name)
	}
}

// Resync asks the control plane again what was delivered, and reports the state of all of it: the control plane may
// have lost earlier reports.
func (p *Puller) Resync() {
	p.intents.mu.Lock()
	defer p.intents.mu.Unlock()
	p.intents.listed, p.intents.since = false, map[api.ClusterResource]bool{}
	select {
	case p.intents.wake <- struct{}{}:
	default:
	}
}

// compareAll compares the cluster with what was applied, and reports differences, until ctx ends. It does so at once
// after a change, and for everything once a minute, in case it missed a notice.
func (p *Puller) compareAll(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	again := newBackoff(p.Jitter)
	for {
		err := p.compareChanged(ctx)
		switch {
		case isEnd(err):
			return err
		case err != nil && ctx.Err() == nil:
			_ = delay.For(ctx, again.after(err))
			continue
		}
		again.reset()
		select {
		case <-p.intents.wake:
		case <-ticker.C:
			p.intents.sweep()
		case <-ctx.Done():
			return nil
		}
	}
}

// compareChanged compares the resources that may have changed.
func (p *Puller) compareChanged(ctx context.Context) error {
	p.intents.mu.Lock()
	listed := p.intents.listed
	p.intents.mu.Unlock()
	if !listed {
		if err := p.list(ctx); err != nil {
			return err
		}
	}
	for {
		due := p.intents.next()
		if len(due) == 0 {
			return nil
		}
		all, ctx := errgroup.WithContext(ctx)
		all.SetLimit(comparing)
		for name, is := range due {
			all.Go(func() error { return p.compare(ctx, name, is) })
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
}

// compare compares a resource with what was applied, and reports the result.
func (p *Puller) compare(ctx context.Context, name api.ClusterResource, is intent) error {
	state, seen, err := p.Applier.Compare(ctx, is.manifest)
	if err != nil { // the next sweep tries again
		p.Logger.WarnContext(ctx, "a resource can't be compared", "resource", name.Kind+"/"+name.Namespace+"/"+name.Name, "error", err)
		return nil
	}
	state.Key = is.key
	return p.say(ctx, name, is, state, seen)
}

// say reports a state unless it is the last reported one. It waits while many events wait, because none may be dropped.
func (p *Puller) say(
	ctx context.Context, name api.ClusterResource, is intent, state pull.State, seen api.ClusterResource,
) error {
	if is.said != nil && is.uid == seen.UID && reflect.DeepEqual(*is.said, state) {
		return nil
	}
	if err := p.WaitForRoom(ctx); err != nil {
		return err
	}
	p.intents.mu.Lock()
	defer p.intents.mu.Unlock()
	known := p.intents.by[name]
	if known == nil || known.key != is.key {
		return nil // a newer job was done meanwhile
	}
	known.said, known.uid = &state, seen.UID
	p.Emit(pull.Event{Kind: pull.EventResourceState, ResourceRef: seen, State: &state, Timestamp: p.Now().UTC()})
	return nil
}

// WaitForRoom waits until only a few events wait.
func (p *Puller) WaitForRoom(ctx context.Context) error {
	for {
		if waiting, _ := p.Buffered(); waiting < room {
			return nil
		}
		if err := delay.For(ctx, roomEvery); err != nil {
			return err
		}
	}
}

// list asks what was delivered and adds it to the intents, except for resources of jobs done meanwhile. All of it is
// reported again. A control plane that doesn't support this gets reports of everything applied from now on.
func (p *Puller) list(ctx context.Context) error {
	i := p.intents
	fetched := map[api.ClusterResource]*intent{}
	for after, known := "", true; known; {
		var jobs []pull.Job
		err := p.request(ctx, func(token string) (err error) {
			jobs, err = p.client.Delivered(ctx, token, p.current().ClusterID, after)
			return err
		})
		if err != nil && statusOf(err) != http.StatusNotFound {
			return err
		}
		known = len(jobs) > 0
		for _, job := range jobs {
			after = job.ID
			if task, err := read(job); err == nil && !task.delete {
				fetched[nameOf(task.ref)] = &intent{key: job.IdempotencyKey, manifest: bytes.Clone(task.manifest)}
			}
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for name, is := range fetched {
		if !i.since[name] { // the control plane may not know the newer job yet
			i.by[name] = is
		}
	}
	for name, is := range i.by {
		is.said = nil
		i.mark(name)
	}
	i.listed = true
	return nil
}
