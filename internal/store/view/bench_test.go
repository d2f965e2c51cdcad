package view_test

import (
	"context"
	"fmt"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// started is start for benchmarks, with some records to begin with.
func started(b *testing.B, records int) (*memory.Store, *view.View) {
	s := memory.New()
	for i := range records {
		if _, err := s.Commit(b.Context(), store.Txn{Do: []store.Op{put(fmt.Sprintf("/tasks/%06d", i), "a b")}}); err != nil {
			b.Fatalf("commit: %v", err)
		}
	}
	v := view.New(s, view.Options{Decode: decode, Indexes: []view.Index{words, last}})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = v.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	<-v.Synced()
	return s, v
}

// BenchmarkFanOut measures one commit from the store to all its readers: a thousand watches of which all, or one (a
// node's agent), want it.
func BenchmarkFanOut(b *testing.B) {
	for _, c := range []struct {
		name  string
		match func(i int) func(view.Change) bool
		hears int
	}{
		{"all", func(int) func(view.Change) bool { return nil }, 1000},
		{"one", func(i int) func(view.Change) bool { return func(view.Change) bool { return i == 0 } }, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, v := started(b, 1000)
			ctx, cancel := context.WithCancel(b.Context())
			heard, done := make(chan struct{}, 1000), make(chan struct{}, 1000)
			for i := range 1000 {
				w := v.Watch(ctx, view.WatchOptions{Prefix: "/tasks/", Match: c.match(i)})
				go func() {
					for range w.Changes() {
						heard <- struct{}{}
					}
					done <- struct{}{}
				}()
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Commit(ctx, store.Txn{Do: []store.Op{put(fmt.Sprintf("/tasks/%06d", i%1000), "a b")}}); err != nil {
					b.Fatalf("commit: %v", err)
				}
				for range c.hears {
					<-heard
				}
			}
			cancel()
			for range 1000 {
				<-done
			}
		})
	}
}

// BenchmarkFeed measures one commit into a view of many records, with its snapshot published.
func BenchmarkFeed(b *testing.B) {
	for _, records := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(records), func(b *testing.B) {
			s, v := started(b, records)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r, err := s.Commit(b.Context(), store.Txn{Do: []store.Op{put(fmt.Sprintf("/tasks/%06d", i%records), "a b")}})
				if err != nil {
					b.Fatalf("commit: %v", err)
				}
				if err := v.WaitFor(b.Context(), r); err != nil {
					b.Fatalf("wait: %v", err)
				}
			}
		})
	}
}

// BenchmarkSnapshot measures taking a snapshot and reading one record of it.
func BenchmarkSnapshot(b *testing.B) {
	_, v := started(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := v.Snapshot().Get("/tasks/005000"); !ok {
			b.Fatal("the record is missing")
		}
	}
}
