package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
)

// flaky is a server's connection to the store, which a test can cut.
type flaky struct {
	store.Store
	mu  sync.Mutex
	cut bool
	// full: it takes no commit, and renews leases.
	full bool
}

var errCut = errors.New("cut")

func (f *flaky) set(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = cut
}

func (f *flaky) fill(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = full
}

func (f *flaky) unfit() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		return store.ErrNoSpace.Error()
	}
	return ""
}

func (f *flaky) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut {
		return errCut
	}
	return nil
}

func (f *flaky) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := f.failure(); err != nil {
		return store.Entry{}, err
	}
	return f.Store.Get(ctx, key)
}

func (f *flaky) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if err := f.failure(); err != nil {
		return 0, err
	}
	if f.unfit() != "" {
		return 0, store.ErrNoSpace
	}
	return f.Store.Commit(ctx, txn)
}

func (f *flaky) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if err := f.failure(); err != nil {
		return 0, err
	}
	return f.Store.Grant(ctx, ttl)
}

func (f *flaky) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := f.failure(); err != nil {
		return err
	}
	return f.Store.KeepAlive(ctx, id)
}

func (f *flaky) Revoke(ctx context.Context, id store.LeaseID) error {
	if err := f.failure(); err != nil {
		return err
	}
	return f.Store.Revoke(ctx, id)
}

// bench holds the state that the candidates of a test share: which one leads, seen from outside.
type bench struct {
	t     *testing.T
	mu    sync.Mutex
	leads string
	since time.Time
	terms int
}

func (b *bench) begin(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leads != "" {
		b.t.Errorf("%s has the controllers while those of %s run", name, b.leads)
	}
	b.leads, b.since = name, time.Now()
	b.terms++
}

func (b *bench) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leads, b.since = "", time.Now()
}

func (b *bench) leader() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leads
}

// TestServersTakeTurns: of several servers one has the controllers. Another one has them soon after the first ended,
// gave no answer, was cut off the store, or takes no writes, and never before its controllers have ended.
func TestServersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewSource(7))
		r := &rivals{t: t, store: memory.New(), engine: hollow.NewEngine(), wrote: map[*server]int{}, strike: -1,
			struck: make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		b := &bench{t: t}
		ways, ends := map[string]*flaky{}, map[string]context.CancelFunc{}
		start := func(name string) {
			life, end := context.WithCancel(ctx)
			ends[name] = end
			way := &flaky{Store: r.store}
			ways[name] = way
			plane := r.newServer(&running, life).plane
			running.Go(func() {
				for life.Err() == nil {
					term, err := plane.Elect(life, controlplane.Candidate{Store: way, Name: name,
						Alone: func() bool { return false }, Unfit: way.unfit})
					if err != nil {
						return
					}
					b.begin(name)
					_ = plane.Run(life, term)
					b.end()
					term.End(life)
				}
			})
		}
		for i := range 3 {
			start(fmt.Sprintf("s%d", i))
		}
		time.Sleep(controlplane.ElectionTTL)
		for round := range 60 {
			synctest.Wait()
			first := b.leader()
			if first == "" {
				t.Fatalf("round %d: no server has the controllers", round)
			}
			within := 2 * controlplane.ElectionTTL
			switch random.Intn(4) {
			case 0: // stopped in order
				ends[first]()
				within = time.Second
			case 1: // killed: its lease runs out
				ways[first].set(true)
				ends[first]()
			case 2: // cut off, and back later
				ways[first].set(true)
			default: // its disk is full
				ways[first].fill(true)
			}
			time.Sleep(within)
			synctest.Wait()
			if next := b.leader(); next == "" || next == first {
				t.Fatalf("round %d: %v after %s went away %q has the controllers", round, within, first, next)
			}
			ways[first].set(false)
			ways[first].fill(false)
			ends[first]()
			synctest.Wait()
			start(first)
			time.Sleep(time.Duration(random.Intn(10_000)) * time.Millisecond)
		}
		t.Logf("%d terms", b.terms)
		cancel()
		running.Wait()
		r.engine.Close()
		_ = r.store.Close()
	})
}

// TestALateClaim: a claim that was sent without an answer and is applied late doesn't keep the controllers.
func TestALateClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		late := &lateClaim{Store: s}
		first := controlplane.Candidate{Store: late, Name: "a", Alone: func() bool { return false }}
		if _, err := first.Claim(t.Context()); !errors.Is(err, store.ErrUnknownOutcome) {
			t.Fatalf("a claim without an answer: %v", err)
		}
		second := controlplane.Candidate{Store: s, Name: "b", Alone: func() bool { return false }}
		term, err := second.Claim(t.Context())
		if err != nil {
			t.Fatalf("after a claim without an answer: %v", err)
		}
		defer term.End(t.Context())
		if err := late.apply(); err == nil {
			t.Error("the late claim was applied over that of another server")
		}
		if entry, err := s.Get(t.Context(), controlplane.ElectionKey); err != nil ||
			controlplane.Leader(entry.Value) != "b" {
			t.Errorf("%q has the controllers, %v", controlplane.Leader(entry.Value), err)
		}
		time.Sleep(10 * controlplane.ElectionTTL)
		synctest.Wait()
		if _, err := term.Commit(t.Context(), store.Txn{Site: "x", Do: []store.Op{{Key: "/x"}}}); err != nil {
			t.Errorf("a term that is kept alive: %v", err)
		}
	})
}

// lateClaim keeps the first commit back.
type lateClaim struct {
	store.Store
	kept *store.Txn
}

func (l *lateClaim) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if l.kept == nil {
		l.kept = &txn
		return 0, store.ErrUnknownOutcome
	}
	return l.Store.Commit(ctx, txn)
}

func (l *lateClaim) apply() error {
	_, err := l.Store.Commit(context.Background(), *l.kept)
	return err
}
