package memory

import (
	"bytes"
	"context"
	"fmt"

	"tend.dev/tend/internal/store"
)

// Commit applies all operations or none.
func (s *Store) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if err := txn.Validate(); err != nil {
		return 0, err
	}
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.holdsLocked(txn); err != nil {
		return 0, err
	}
	return s.applyLocked(txn.Do), nil
}

// holdsLocked returns an error that names the precondition that doesn't hold, or the lease that doesn't exist.
func (s *Store) holdsLocked(txn store.Txn) error {
	tree := s.newestLocked().tree
	for _, c := range txn.If {
		// An absent key reads as revision 0, as Condition expresses absence.
		if have, _ := tree.Get(store.Entry{Key: c.Key}); have.Modified != c.Modified {
			return &store.ConflictError{Key: c.Key, Want: c.Modified, Have: have.Modified}
		}
	}
	for _, op := range txn.Do {
		if _, ok := s.leases[op.Lease]; op.Lease != 0 && !op.Delete && !ok {
			return fmt.Errorf("put %s: lease %x: %w", op.Key, op.Lease, store.ErrLeaseNotFound)
		}
	}
	return nil
}

// applyLocked writes the operations as the next revision, if they change anything, and returns the newest.
func (s *Store) applyLocked(ops []store.Op) int64 {
	newest := s.newestLocked()
	// Only the clone changes: the older revision keeps its tree.
	next := commit{revision: newest.revision + 1, tree: newest.tree.Clone()}
	for _, op := range ops {
		if op.Delete {
			s.deleteLocked(&next, op.Key)
		} else {
			s.putLocked(&next, op)
		}
	}
	if len(next.events) == 0 {
		return newest.revision
	}
	s.commits = append(s.commits, next)
	s.growLocked()
	return next.revision
}

func (s *Store) putLocked(next *commit, op store.Op) {
	entry := store.Entry{
		Key: op.Key, Value: bytes.Clone(op.Value), Lease: op.Lease,
		Created: next.revision, Modified: next.revision,
	}
	if old, ok := next.tree.Get(entry); ok {
		entry.Created = old.Created
		s.detachLocked(old)
	}
	if l := s.leases[op.Lease]; l != nil {
		l.keys[op.Key] = struct{}{}
	}
	next.tree.ReplaceOrInsert(entry)
	next.events = append(next.events, store.Event{Entry: entry})
}

func (s *Store) deleteLocked(next *commit, key string) {
	old, ok := next.tree.Delete(store.Entry{Key: key})
	if !ok {
		return
	}
	s.detachLocked(old)
	gone := store.Entry{Key: key, Modified: next.revision}
	next.events = append(next.events, store.Event{Entry: gone, Deleted: true})
}

func (s *Store) detachLocked(entry store.Entry) {
	if l := s.leases[entry.Lease]; l != nil {
		delete(l.keys, entry.Key)
	}
}
