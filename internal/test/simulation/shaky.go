package simulation

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// shaky is the engine behind a faulty connection: calls may take long, and an answer may be lost after the call took
// effect.
type shaky struct {
	runtime.Runtime
	w *World
}

// strain holds the faults between the server and the engine. The zero value has none.
type strain struct {
	mu     sync.Mutex
	random *rand.Rand
	lost   float64
	slow   time.Duration
}

func (s *strain) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost, s.slow = 0, 0
}

func (s *strain) calm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost == 0 && s.slow == 0
}

func (s *strain) draw() (lost bool, slow time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost > 0 {
		lost = s.random.Float64() < s.lost
	}
	if s.slow > 0 {
		slow = time.Duration(s.random.Int64N(int64(s.slow)))
	}
	return lost, slow
}

func (w *World) engineFor(cluster, node string) runtime.Runtime {
	w.cluster.Store(&cluster)
	var made runtime.Runtime = w.engine.Client(cluster, node)
	if node == w.plainNode() {
		made = &plain{Runtime: made, w: w, node: node}
	}
	return &shaky{Runtime: made, w: w}
}

// call makes one call of the engine.
func call[T any](ctx context.Context, s *shaky, do func() (T, error)) (T, error) {
	s.w.count.calls.Add(1)
	lost, slow := s.w.strain.draw()
	if slow > 0 {
		sleep(ctx, slow)
	}
	answer, err := do()
	if lost && err == nil {
		var none T
		return none, runtime.ErrUnavailable
	}
	return answer, err
}

func effect(ctx context.Context, s *shaky, do func() error) error {
	_, err := call(ctx, s, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (s *shaky) List(ctx context.Context) ([]runtime.Container, error) {
	return call(ctx, s, func() ([]runtime.Container, error) { return s.Runtime.List(ctx) })
}

func (s *shaky) Inspect(ctx context.Context, id string) (runtime.Container, error) {
	return call(ctx, s, func() (runtime.Container, error) { return s.Runtime.Inspect(ctx, id) })
}

func (s *shaky) Create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	return call(ctx, s, func() (runtime.Container, error) { return s.Runtime.Create(ctx, spec) })
}

func (s *shaky) Start(ctx context.Context, id string) error {
	return effect(ctx, s, func() error { return s.Runtime.Start(ctx, id) })
}

func (s *shaky) Stop(ctx context.Context, id string, grace time.Duration) error {
	return effect(ctx, s, func() error { return s.Runtime.Stop(ctx, id, grace) })
}

func (s *shaky) Remove(ctx context.Context, id string) error {
	return effect(ctx, s, func() error { return s.Runtime.Remove(ctx, id) })
}

func (s *shaky) Resolve(ctx context.Context, reference string) (runtime.Image, error) {
	return call(ctx, s, func() (runtime.Image, error) { return s.Runtime.Resolve(ctx, reference) })
}
