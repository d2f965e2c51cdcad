package reconciler

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// BenchmarkNoop runs 100,000 keys through a controller whose reconciles do nothing, and through a bare workqueue with
// as many workers, and prints what the queue costs on top.
func BenchmarkNoop(b *testing.B) {
	all := keys(100_000)
	bare, ours := time.Duration(1<<62), time.Duration(1<<62)
	for b.Loop() {
		bare = min(bare, throughWorkqueue(all, 4))
		ours = min(ours, throughController(all, 4))
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(len(all)), "ns/key")
	fmt.Printf("bench: reconciler_noop_100k %.2f x workqueue\n", float64(ours)/float64(bare))
}

func throughWorkqueue(all []Key, workers int) time.Duration {
	queue := workqueue.NewTyped[Key]()
	var left atomic.Int64
	left.Store(int64(len(all)))
	var group sync.WaitGroup
	start := time.Now()
	for range workers {
		group.Go(func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(key)
				if left.Add(-1) == 0 {
					queue.ShutDown()
				}
			}
		})
	}
	for _, key := range all {
		queue.Add(key)
	}
	group.Wait()
	return time.Since(start)
}

func throughController(all []Key, workers int) time.Duration {
	var left atomic.Int64
	left.Store(int64(len(all)))
	ctx, cancel := context.WithCancel(context.Background())
	c := New(Options{
		Name: "deployment", Workers: workers, Logger: slog.New(slog.DiscardHandler),
		Reconciler: Func(func(context.Context, Key) (Result, error) {
			if left.Add(-1) == 0 {
				cancel()
			}
			return Result{}, nil
		}),
	})
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- c.Run(ctx) }()
	for _, key := range all {
		c.Enqueue(key)
	}
	<-ended
	return time.Since(start)
}
