package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

const (
	// samplesAtOnce bounds the calls. Calls to an engine wait for the same round of it, so it serves many as one.
	samplesAtOnce = 128
	// leastWindow is the least time span of a rate; shorter ones depend more on the clock than on the container.
	leastWindow = 200 * time.Millisecond
	// statsFresh is the time for which an answer of Stats is reused.
	statsFresh = time.Second
	// oldSample is the age from which a sample is too old for a rate.
	oldSample = time.Minute
)

// Stats samples pods, named by their tasks, in parallel; each rate is of the last moments. An answer is up to a second
// old, so that many callers cost the engine as much as one.
func (a *Agent) Stats(ctx context.Context, tasks []string) []runtime.Usage {
	return a.sample(ctx, a.stats, tasks)
}

// Load samples pods as Stats does; each rate is the mean since the last call of Load. The first call has none, and the
// pod's error is ErrNoRate.
func (a *Agent) Load(ctx context.Context, tasks []string) []runtime.Usage {
	return a.sample(ctx, a.load, tasks)
}

func (a *Agent) sample(ctx context.Context, s *sampler, tasks []string) []runtime.Usage {
	out := make([]runtime.Usage, len(tasks))
	s.prune()
	var wait recovery.Group
	for i, task := range tasks {
		seen, _ := a.containers.known(task)
		if seen == nil || seen.container.State != runtime.StateRunning {
			out[i].Err = fmt.Errorf("%s: %w that runs", task, node.ErrNoPod)
			continue
		}
		wait.Go(func() {
			if err := recovery.Call(func() error { out[i] = s.of(ctx, seen.container); return nil }, "task", task); err != nil {
				out[i].Err = err
			}
		})
	}
	wait.Wait()
	return out
}

// sampler turns samples of containers into rates: it keeps the last sample of each.
type sampler struct {
	samplerOptions
	runtime runtime.Runtime
	now     func() time.Time
	places  chan struct{}

	mu   sync.Mutex
	last map[string]*reading
}

type samplerOptions struct {
	// Fresh is the time for which an answer is reused.
	Fresh time.Duration
	// Waits is set if a missing earlier sample is made up for by waiting for a second one.
	Waits bool
}

// reading is the cached state of a container. Its lock is held while it is sampled, so that a concurrent caller gets
// the same answer.
type reading struct {
	sync.Mutex
	at    time.Time // by this process's clock
	usage runtime.Usage
	rated bool
}

func newSampler(rt runtime.Runtime, now func() time.Time, o samplerOptions) *sampler {
	return &sampler{samplerOptions: o, runtime: rt, now: now, places: make(chan struct{}, samplesAtOnce),
		last: map[string]*reading{}}
}

// of samples one container.
func (s *sampler) of(ctx context.Context, c runtime.Container) runtime.Usage {
	r := s.reading(c.ID)
	r.Lock()
	defer r.Unlock()
	if s.now().Sub(r.at) < s.Fresh && r.begins(c) {
		if r.rated {
			return r.usage
		}
		if !s.Waits {
			return runtime.Usage{Stats: r.usage.Stats, Err: ErrNoRate}
		}
	}
	if err := s.take(ctx, r, c); err != nil {
		return runtime.Usage{Err: err}
	}
	if r.rated {
		return r.usage
	}
	if !s.Waits {
		return runtime.Usage{Stats: r.usage.Stats, Err: ErrNoRate}
	}
	select {
	case <-ctx.Done():
		return runtime.Usage{Err: ctx.Err()}
	case <-time.After(leastWindow):
	}
	if err := s.take(ctx, r, c); err != nil {
		return runtime.Usage{Err: err}
	}
	return r.usage
}

// take adds a sample, with its rate if the previous sample allows one.
func (s *sampler) take(ctx context.Context, r *reading, c runtime.Container) error {
	now, err := s.ask(ctx, c.ID)
	if err != nil {
		return err
	}
	next := runtime.Usage{Stats: now}
	elapsed := now.At.Sub(r.usage.At)
	rated := r.begins(c) && elapsed >= leastWindow/2 && elapsed < max(oldSample, 4*s.Fresh) &&
		now.CPUTime >= r.usage.CPUTime
	if rated {
		next.CPUPercent = 100 * float64(now.CPUTime-r.usage.CPUTime) / float64(elapsed)
	}
	r.at, r.usage, r.rated = s.now(), next, rated
	return nil
}

// begins reports whether the last sample is of the container's current incarnation.
func (r *reading) begins(c runtime.Container) bool {
	return !r.usage.At.IsZero() && !r.usage.At.Before(c.StartedAt)
}

func (s *sampler) ask(ctx context.Context, id string) (runtime.Stats, error) {
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return runtime.Stats{}, ctx.Err()
	}
	defer func() { <-s.places }()
	return s.runtime.Stats(ctx, id)
}

func (s *sampler) reading(id string) *reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[id] == nil {
		s.last[id] = &reading{}
	}
	return s.last[id]
}

// prune drops containers that were not sampled for long.
func (s *sampler) prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range s.last {
		if !r.TryLock() {
			continue // it is being sampled
		}
		if s.now().Sub(r.at) > 2*max(oldSample, 4*s.Fresh) {
			delete(s.last, id)
		}
		r.Unlock()
	}
}
