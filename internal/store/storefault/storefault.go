package storefault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/internal/store"
)

// Fate is the fate of one commit. The zero value is Answered.
type Fate struct {
	kind    kind
	commits int
	delay   time.Duration
}

type kind int

const (
	answered kind = iota
	lost
	unanswered
	late
)

var (
	// Answered passes the commit and its answer through.
	Answered = Fate{}
	// Lost returns ErrUnknownOutcome; the commit is never applied.
	Lost = Fate{kind: lost}
	// Unanswered applies the commit at once and returns ErrUnknownOutcome.
	Unanswered = Fate{kind: unanswered}
)

// Late returns ErrUnknownOutcome and applies the commit after n later commits have reached the store, or at Flush.
func Late(n int) Fate { return Fate{kind: late, commits: max(n, 1)} }

// LateBy returns ErrUnknownOutcome and applies the commit after d, or at Flush.
func LateBy(d time.Duration) Fate { return Fate{kind: late, delay: d} }

// Store is a store some of whose commits have an unknown outcome. Create it with New. It is safe for concurrent use.
type Store struct {
	store.Store
	fate func(store.Txn) Fate

	mu sync.Mutex
	// queue holds late commits in the order they were sent.
	queue []*pending
	// applied holds the sites of late commits that were applied, refused those of commits whose preconditions no longer
	// held.
	applied, refused []string
}

// pending is a late commit. after is the number of commits it still waits for; 0 waits for a timer or Flush.
type pending struct {
	txn   store.Txn
	after int
}

// New wraps inner. fate is called for each commit in the order they arrive; nil answers all.
func New(inner store.Store, fate func(store.Txn) Fate) *Store {
	if fate == nil {
		fate = func(store.Txn) Fate { return Answered }
	}
	return &Store{Store: inner, fate: fate}
}

// Commit handles txn according to its fate.
func (s *Store) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fate := s.fate(txn)
	unknown := fmt.Errorf("commit %s: %w", txn.Site, store.ErrUnknownOutcome)
	switch fate.kind {
	case lost:
		return 0, unknown
	case late:
		s.enqueueLocked(fate, txn)
		return 0, unknown
	}
	revision, err := s.Store.Commit(ctx, txn)
	s.countLocked()
	if fate.kind == unanswered {
		return 0, unknown
	}
	return revision, err
}

func (s *Store) enqueueLocked(fate Fate, txn store.Txn) {
	p := &pending{txn: txn, after: fate.commits}
	s.queue = append(s.queue, p)
	if fate.delay > 0 {
		time.AfterFunc(fate.delay, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.applyLocked(func(other *pending) bool { return other == p })
		})
	}
}

// countLocked applies the commits that have waited for enough others.
func (s *Store) countLocked() {
	s.applyLocked(func(p *pending) bool {
		p.after--
		return p.after == 0
	})
}

// applyLocked applies the commits that are due and removes them from the queue.
func (s *Store) applyLocked(due func(*pending) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(p *pending) bool {
		if !due(p) {
			return false
		}
		if _, err := s.Store.Commit(context.Background(), p.txn); err != nil {
			s.refused = append(s.refused, p.txn.Site)
		} else {
			s.applied = append(s.applied, p.txn.Site)
		}
		return true
	})
}

// Flush applies all queued commits, in the order they were sent.
func (s *Store) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyLocked(func(*pending) bool { return true })
}

// Applied returns the sites of the late commits that were applied, in order.
func (s *Store) Applied() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.applied)
}

// Refused returns the sites of the late commits whose preconditions no longer held when they were due, in order.
func (s *Store) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}
