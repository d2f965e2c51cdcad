package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/view"
)

func TestViewFollowsWhileHistoryIsCompacted(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Options{})
	v := runView(t, s)
	<-v.Synced()
	var last int64
	for i := range 300 {
		last = commit(t, s, put(fmt.Sprint("/k/", i%50), []byte(fmt.Sprint(i))),
			store.Op{Key: fmt.Sprint("/k/", (i+25)%50), Delete: true})
		if i%20 == 0 {
			if err := s.Compact(t.Context(), last); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustShow(t, v, s, last)
}

// compactedFirst compacts the revision that the first watch is to begin with.
type compactedFirst struct {
	*etcd.Store
	t    *testing.T
	once sync.Once
}

func (c *compactedFirst) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	c.once.Do(func() {
		commit(c.t, c.Store, put("/k/missed", []byte("1")), store.Op{Key: "/k/deleted", Delete: true})
		last := commit(c.t, c.Store, put("/k/missed", []byte("2")))
		if err := c.Compact(ctx, last); err != nil {
			c.t.Error(err)
		}
	})
	return c.Store.Watch(ctx, prefix, from)
}

func TestViewListsAgainWhereHistoryIsGone(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Options{})
	commit(t, s, put("/k/deleted", []byte("1")))
	v := runView(t, &compactedFirst{Store: s, t: t})
	<-v.Synced()
	mustShow(t, v, s, commit(t, s, put("/k/new", []byte("1"))))
}

func runView(t *testing.T, s store.Store) *view.View {
	v := view.New(s, view.Options{
		Decode: func(_ string, value []byte) (any, error) { return string(value), nil },
		Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the view ended with %v", err)
		}
	})
	return v
}

// mustShow compares the view with the store.
func mustShow(t *testing.T, v *view.View, s store.Store, revision int64) {
	t.Helper()
	if err := v.WaitFor(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := range v.Snapshot().Prefix("/k/") {
		got[r.Key[len("/k/"):]] = r.Value.(string)
	}
	if diff := cmp.Diff(values(t, s, "/k/"), got); diff != "" {
		t.Errorf("-store +view:\n%s", diff)
	}
}
