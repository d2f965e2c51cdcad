package reconciler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Keep bubbles small: the race detector can crash on a bubble with more than about 1,000 goroutines.

var (
	errFlaky = errors.New("engine away")
	web      = Key{Kind: "deployment", Scope: "prod", Name: "web"}
	api      = Key{Kind: "deployment", Scope: "prod", Name: "api"}
)

// hear returns what is logged by default from now on, until the test ends.
func hear(t *testing.T) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &out
}

// call is one call of the Reconciler, at a time since the harness began.
type call struct {
	key Key
	at  time.Duration
}

// harness runs a Controller inside a synctest bubble and records its reconciles.
type harness struct {
	*Controller
	begun  time.Time
	cancel context.CancelFunc
	ended  chan error

	mu    sync.Mutex
	calls []call
}

// newHarness starts a controller whose reconciles are counted and then answered by then (nil is done).
func newHarness(t *testing.T, o Options, then Func) *harness {
	t.Helper()
	l := &harness{begun: time.Now(), ended: make(chan error, 1)}
	o.Name = "deployment"
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Reconciler = Func(func(ctx context.Context, key Key) (Result, error) {
		l.mu.Lock()
		l.calls = append(l.calls, call{key, time.Since(l.begun)})
		l.mu.Unlock()
		if then == nil {
			return Result{}, nil
		}
		return then(ctx, key)
	})
	l.Controller = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	go func() { l.ended <- l.Run(ctx) }()
	synctest.Wait()
	return l
}

// stop ends the controller, which must return no error.
func (l *harness) stop(t *testing.T) {
	t.Helper()
	l.cancel()
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// pass lets bubble time pass.
func (l *harness) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (l *harness) count(key Key) int { return len(l.times(key)) }

func (l *harness) times(key Key) []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var times []time.Duration
	for _, call := range l.calls {
		if call.key == key {
			times = append(times, call.at)
		}
	}
	return times
}

func (l *harness) wantCount(t *testing.T, key Key, want int, reason string) {
	t.Helper()
	if got := l.count(key); got != want {
		t.Errorf("%s: %s was reconciled %d times %v, want %d", reason, key.Name, got, l.times(key), want)
	}
}

func (l *harness) isReady() bool {
	select {
	case <-l.Ready():
		return true
	default:
		return false
	}
}

func keys(n int) []Key {
	list := make([]Key, n)
	for i := range list {
		list[i] = Key{Kind: "deployment", Scope: "prod", Name: fmt.Sprintf("app-%04d", i)}
	}
	return list
}

func listing(keys ...Key) func() []Key { return func() []Key { return keys } }
