package reconciler

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
)

// BenchmarkEnqueueToReconcile measures the time of one key from the queue to its reconcile, with nothing else waiting.
func BenchmarkEnqueueToReconcile(b *testing.B) {
	started := make(chan struct{})
	enqueue := runBenched(b, Func(func(context.Context, Key) (Result, error) {
		started <- struct{}{}
		return Result{}, nil
	}))
	for b.Loop() {
		enqueue(Key{Kind: "bench", Name: "one"})
		<-started
	}
}

// BenchmarkBurst measures 10,000 different keys that become due at once.
func BenchmarkBurst(b *testing.B) {
	const burst = 10_000
	keys := make([]Key, burst)
	for i := range keys {
		keys[i] = Key{Kind: "bench", Name: strconv.Itoa(i)}
	}
	done := make(chan struct{}, burst)
	enqueue := runBenched(b, Func(func(context.Context, Key) (Result, error) {
		done <- struct{}{}
		return Result{}, nil
	}))
	for b.Loop() {
		enqueue(keys...)
		for range keys {
			<-done
		}
	}
	b.ReportMetric(float64(burst*b.N)/b.Elapsed().Seconds(), "keys/s")
}

// runBenched runs a controller until the benchmark ends.
func runBenched(b *testing.B, reconciler Reconciler) (enqueue func(...Key)) {
	c := New(Options{Name: "bench", Reconciler: reconciler, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-ended })
	<-c.Ready()
	return c.Enqueue
}
