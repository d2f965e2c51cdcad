package store

import (
	"context"
	"time"
)

// Store is the interface of a backend: an ordered map from keys to bytes in which every commit gets the next revision.
// Everything else (views, typed records, elections) is built on it once.
type Store interface {
	// Get reads one key at the newest revision. It returns ErrNotFound if the key doesn't exist.
	Get(ctx context.Context, key string) (Entry, error)
	// List reads the keys under a prefix in order, at one revision. A page holds at most Limit entries; read the next
	// one with After and the first page's Revision. The error is ErrCompacted if that revision is gone,
	// ErrFutureRevision if it is yet to come. Returned values, here and everywhere, may be shared: don't modify them.
	List(ctx context.Context, prefix string, opts ListOptions) (Page, error)
	// Commit applies all operations or none, and returns the revision they share. If a precondition doesn't hold, the
	// error is a *ConflictError (errors.Is ErrConflict) naming the key. A commit that changes nothing makes no revision
	// and returns the newest.
	//
	// ErrUnknownOutcome is the error of a commit that was sent and not answered: a timeout, a cut connection, a context
	// that ended, a store that was closed meanwhile. It may be applied at any later time, also after a read that
	// doesn't show it. It can no longer be applied once a later commit has changed a key that it compares. Every other
	// error means that nothing was written and nothing will be.
	Commit(ctx context.Context, txn Txn) (int64, error)
	// Watch streams every commit under the prefix from a revision on (1 more than a List's Revision), in order, without
	// gap or repeat, one Batch per commit; 0 means from now. The channel closes when ctx ends, the store is closed or
	// the watch fails; Err says why. A watch that keeps up is not affected by Compact.
	Watch(ctx context.Context, prefix string, from int64) Watcher
	// Grant creates a lease that ends after ttl (rounded up to a second) unless it is kept alive; its keys end with it.
	Grant(ctx context.Context, ttl time.Duration) (LeaseID, error)
	// KeepAlive renews a lease once. It returns ErrLeaseNotFound if it has ended.
	KeepAlive(ctx context.Context, id LeaseID) error
	// Revoke ends a lease and deletes its keys.
	Revoke(ctx context.Context, id LeaseID) error
	// Compact deletes the history before a revision: the revision itself can still be listed and watched from.
	// Compacting deleted history again returns no error.
	Compact(ctx context.Context, revision int64) error
	// Close releases the store's resources. Watches end.
	Close() error
}

// Bounded is a store on a disk that may become full.
type Bounded interface {
	// Room returns ErrNoSpace, with the next step, while commits that write are refused for lack of disk space.
	Room() error
}

// LeaseID identifies a lease; 0 means no lease.
type LeaseID int64

// Entry is a key with its value and the revisions of its creation and last change.
type Entry struct {
	Key      string
	Value    []byte
	Created  int64
	Modified int64
	Lease    LeaseID
}

// ListOptions select a page of List. The zero value reads everything at the newest revision.
type ListOptions struct {
	// Limit is the most entries of a page; 0 means no limit.
	Limit int
	// After is the last key of the previous page.
	After string
	// Revision is the revision to read at; 0 means the newest.
	Revision int64
}

// Page is one answer of List.
type Page struct {
	Entries []Entry
	// Revision is the revision of the page: watch from Revision+1 to miss nothing.
	Revision int64
	// More reports whether entries follow.
	More bool
}

// Txn is a set of operations with the preconditions under which they may be applied.
type Txn struct {
	// Site names the place in the code that commits ("apply", "deployment.tasks"), for failpoints and metrics.
	Site string
	If   []Condition
	// Do writes each key at most once.
	Do []Op
}

// Condition holds if the key's Modified revision is Modified; 0 means the key must not exist.
type Condition struct {
	Key      string
	Modified int64
}

// Op puts a value, or with Delete removes the key (removing a missing key returns no error).
type Op struct {
	Key    string
	Value  []byte
	Lease  LeaseID
	Delete bool
}

// Watcher is a running watch.
type Watcher interface {
	// Batches delivers commits; it is closed at the end.
	Batches() <-chan Batch
	// Err returns the reason why the channel closed: ErrCompacted, ErrWatchLost, ErrClosed, or the context's error. It is
	// valid once the channel is closed.
	Err() error
}

// Batch holds the changes of one commit under the watched prefix, in the order it was written. A batch without events
// only advances the revision.
type Batch struct {
	Revision int64
	Events   []Event
}

// Event is one changed key. Deleted entries have only the key and the revision.
type Event struct {
	Entry
	Deleted bool
}
