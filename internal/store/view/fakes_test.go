package view_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing/synctest"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// flaky is a store whose watches can be cut and whose listings can be made to fail.
type flaky struct {
	*memory.Store
	mu    sync.Mutex
	cuts  []func(error)
	pages func(page int) error // called before each page of a listing
	page  int
	down  chan struct{} // listings wait until it is closed
}

func newFlaky() *flaky {
	up := make(chan struct{})
	close(up)
	return &flaky{Store: memory.New(), down: up, pages: func(int) error { return nil }}
}

func (f *flaky) List(ctx context.Context, prefix string, o store.ListOptions) (store.Page, error) {
	f.mu.Lock()
	if f.page++; o.After == "" {
		f.page = 0
	}
	down, err := f.down, f.pages(f.page)
	f.mu.Unlock()
	if err != nil {
		return store.Page{}, err
	}
	select {
	case <-down:
		return f.Store.List(ctx, prefix, o)
	case <-ctx.Done():
		return store.Page{}, ctx.Err()
	}
}

func (f *flaky) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts = append(f.cuts, cancel)
	return cut{f.Store.Watch(ctx, prefix, from), ctx}
}

// failPages sets which pages of a listing fail, from now on.
func (f *flaky) failPages(pages func(page int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages = pages
}

// cutWatches ends the running watch with an error and holds back listings until the returned function is called. It
// works only under synctest: it waits until the view has its watch.
func (f *flaky) cutWatches(err error) (release func()) {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cancel := range f.cuts {
		cancel(err)
	}
	f.cuts, f.down = nil, make(chan struct{})
	return func() { close(f.down) }
}

type cut struct {
	store.Watcher
	ctx context.Context
}

func (c cut) Err() error {
	if errors.Is(c.Watcher.Err(), context.Canceled) {
		return context.Cause(c.ctx)
	}
	return c.Watcher.Err()
}

// decode rejects "bad", panics on "panic" and returns nothing for "hidden"; all else are strings.
func decode(_ string, value []byte) (any, error) {
	switch s := string(value); {
	case strings.HasPrefix(s, "bad"):
		return nil, fmt.Errorf("%q is bad", s)
	case s == "panic":
		panic("what is this?")
	case s == "hidden":
		return nil, nil
	default:
		return s, nil
	}
}

// words indexes a record by each word of its value.
var words = view.Index{Name: "words", Keys: func(_ string, value any) []string {
	return strings.Fields(value.(string))
}}

// last indexes a record by the last letter of its key.
var last = view.Index{Name: "last", Keys: func(key string, _ any) []string { return []string{key[len(key)-1:]} }}

// start runs a view until the test ends and waits for its first listing.
func start(t scope, s store.Store, o view.Options) *view.View {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	v := view.New(s, o)
	run(t, v)
	<-v.Synced()
	return v
}

// scope is a test, or one draw of a property test.
type scope interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	Context() context.Context
}

// run feeds a view until the test ends.
func run(t scope, v *view.View) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := v.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run ended with %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func put(key, value string) store.Op { return store.Op{Key: key, Value: []byte(value)} }

func del(key string) store.Op { return store.Op{Key: key, Delete: true} }

// commit writes and waits until the view has it.
func commit(t scope, s store.Store, v *view.View, ops ...store.Op) int64 {
	t.Helper()
	revision := write(t, s, ops...)
	if err := v.WaitFor(t.Context(), revision); err != nil {
		t.Fatalf("wait for %d: %v", revision, err)
	}
	return revision
}

func write(t scope, s store.Store, ops ...store.Op) int64 {
	t.Helper()
	revision, err := s.Commit(t.Context(), store.Txn{Do: ops})
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return revision
}

// contents returns a snapshot as a plain map.
func contents(s *view.Snapshot) map[string]any {
	all := map[string]any{}
	for r := range s.Prefix("") {
		all[r.Key] = r.Value
	}
	return all
}
