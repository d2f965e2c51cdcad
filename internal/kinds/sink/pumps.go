package sink

import (
	"context"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
)

// runner sends until ctx ends, or until the receiver is gone for good.
type runner func(ctx context.Context)

// pumps are the running sinks, by the uid of their object.
type pumps struct {
	ctx    context.Context
	cancel context.CancelFunc
	wait   recovery.Group

	mu sync.Mutex
	// enqueue is nil before open and after close, when no pump may run.
	enqueue func(...reconciler.Key)
	running map[string]*running
}

// running is one sink, whose track outlives the changes of its spec.
type running struct {
	ref        api.Ref
	generation int64
	track      *track
	cancel     context.CancelFunc
	done       chan struct{}
}

func newPumps() *pumps {
	p := &pumps{running: map[string]*running{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

func (p *pumps) open(enqueue func(...reconciler.Key)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enqueue = enqueue
}

func (p *pumps) close() {
	p.mu.Lock()
	p.enqueue = nil
	p.mu.Unlock()
	p.cancel()
	p.wait.Wait()
}

// ensure has an object's pump run with its current generation, and returns its track; nil if none may run. A pump of an
// earlier generation ends before the next one begins.
func (p *pumps) ensure(object *api.Object, begin api.SinkProgress, pump func(*track) runner) *track {
	p.mu.Lock()
	defer p.mu.Unlock()
	enqueue := p.enqueue
	if enqueue == nil {
		return nil
	}
	uid, generation := object.Metadata.UID, object.Metadata.Generation
	r := p.running[uid]
	if r != nil && r.generation == generation {
		return r.track
	}
	next := &running{ref: object.Ref(), generation: generation, done: make(chan struct{})}
	before := make(chan struct{})
	if r != nil {
		r.cancel()
		next.track, before = r.track, r.done
		next.track.change(unhurried, tryNow)
	} else {
		key := control.Key(object.Ref())
		next.track = &track{now: begin, wake: func() { enqueue(key) }}
		close(before)
	}
	ctx, cancel := context.WithCancel(p.ctx)
	next.cancel = cancel
	p.running[uid] = next
	run := pump(next.track)
	p.wait.Go(func() {
		defer close(next.done)
		<-before
		_ = recovery.Keep(ctx, func(ctx context.Context) error { run(ctx); return nil }, "object", next.ref.String())
	})
	return next.track
}

// tryNow ends the wait for the next attempt, and what is known of refused addresses: what the user changed may be what
// it needed.
func tryNow(progress *api.SinkProgress) {
	progress.Refusals = nil
	if progress.Trying != nil {
		trying := *progress.Trying
		trying.NextAt = time.Time{}
		progress.Trying = &trying
	}
}

// stopOthers stops the pumps of an object's name but the one of a uid.
func (p *pumps) stopOthers(ref api.Ref, uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, r := range p.running {
		if r.ref == ref && other != uid {
			r.cancel()
			delete(p.running, other)
		}
	}
}

// settled reports whether the pump of an object runs as it should and there is nothing to write of it.
func (p *pumps) settled(of api.Metadata, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enqueue == nil {
		return true
	}
	r := p.running[of.UID]
	if r == nil || r.generation != of.Generation {
		return false
	}
	wait, unsaved := r.track.due(now)
	return !unsaved || wait > 0
}
