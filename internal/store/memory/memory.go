package memory

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/google/btree"

	"tend.dev/tend/internal/store"
)

// Store implements store.Store. Create one with New.
//
// Every revision keeps its own tree. Trees share their common parts, so a commit costs only what it changes.
type Store struct {
	mu sync.Mutex
	// commits holds one commit per revision without gaps, oldest first, never empty. The first is the last compacted
	// one.
	commits []commit
	// grown is closed, and replaced, when commits grows or shrinks.
	grown  chan struct{}
	leases map[store.LeaseID]*lease
	// lastLease is the newest lease id.
	lastLease store.LeaseID
	// done is closed by Close.
	done chan struct{}
}

// commit is one revision: its changes, and all entries after it.
type commit struct {
	revision int64
	events   []store.Event
	tree     *btree.BTreeG[store.Entry]
}

var _ store.Store = (*Store)(nil)

// New returns an empty store at revision 1.
func New() *Store {
	empty := btree.NewG(16, func(a, b store.Entry) bool { return a.Key < b.Key })
	return &Store{
		commits: []commit{{revision: 1, tree: empty}},
		grown:   make(chan struct{}),
		leases:  map[store.LeaseID]*lease{},
		done:    make(chan struct{}),
	}
}

// Get reads one key.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := s.usable(ctx); err != nil {
		return store.Entry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.newestLocked().tree.Get(store.Entry{Key: key})
	if !ok {
		return store.Entry{}, fmt.Errorf("get %s: %w", key, store.ErrNotFound)
	}
	return entry, nil
}

// List reads a page of keys.
func (s *Store) List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error) {
	if err := s.usable(ctx); err != nil {
		return store.Page{}, err
	}
	at, err := s.commitAt(opts.Revision)
	if err != nil {
		return store.Page{}, fmt.Errorf("list %q: %w", prefix, err)
	}
	page := store.Page{Revision: at.revision}
	at.tree.AscendGreaterOrEqual(store.Entry{Key: max(prefix, opts.After)}, func(e store.Entry) bool {
		if !strings.HasPrefix(e.Key, prefix) {
			return false
		}
		if opts.After != "" && e.Key == opts.After {
			return true
		}
		if opts.Limit > 0 && len(page.Entries) == opts.Limit {
			page.More = true
			return false
		}
		page.Entries = append(page.Entries, e)
		return true
	})
	return page, nil
}

// Compact deletes the revisions before one.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.commits[0].revision
	if revision <= oldest {
		return nil
	}
	if newest := s.newestLocked().revision; revision > newest {
		return fmt.Errorf("compact %d: %w (the newest is %d)", revision, store.ErrFutureRevision, newest)
	}
	s.commits = append([]commit(nil), s.commits[revision-oldest:]...)
	s.growLocked()
	return nil
}

// Clone copies the store's current entries, without the history. The time to live of leases starts over in the copy, as
// after a restore.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newestLocked()
	out := New()
	out.mu.Lock() // a lease may end while the rest are copied
	defer out.mu.Unlock()
	out.commits = []commit{{revision: newest.revision, tree: newest.tree.Clone()}}
	out.lastLease = s.lastLease
	for id, l := range s.leases {
		out.leases[id] = &lease{
			ttl: l.ttl, ends: time.Now().Add(l.ttl), keys: maps.Clone(l.keys),
			timer: time.AfterFunc(l.ttl, func() { out.expire(id) }),
		}
	}
	return out
}

// Close ends watches and leases.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return nil
	default:
	}
	close(s.done)
	for _, l := range s.leases {
		l.timer.Stop()
	}
	return nil
}

// usable returns an error if a call can't be served: its context or the store has ended.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.done:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

func (s *Store) newestLocked() commit { return s.commits[len(s.commits)-1] }

func (s *Store) growLocked() {
	close(s.grown)
	s.grown = make(chan struct{})
}

// commitAt returns the commit of a revision; 0 is the newest.
func (s *Store) commitAt(revision int64) (commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest, newest := s.commits[0].revision, s.newestLocked().revision
	switch {
	case revision == 0:
		revision = newest
	case revision < oldest:
		return commit{}, fmt.Errorf("revision %d: %w (the oldest is %d)", revision, store.ErrCompacted, oldest)
	case revision > newest:
		return commit{}, fmt.Errorf("revision %d: %w (the newest is %d)", revision, store.ErrFutureRevision, newest)
	}
	return s.commits[revision-oldest], nil
}
