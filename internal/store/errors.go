package store

import (
	"errors"
	"fmt"
)

// The errors of a backend.
var (
	// ErrNotFound means that the key does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that a precondition did not hold; read again and decide again.
	ErrConflict = errors.New("conflict")
	// ErrCompacted means that the requested revision is no longer kept; list again.
	ErrCompacted = errors.New("revision compacted")
	// ErrWatchLost means that the backend ended the watch; list again.
	ErrWatchLost = errors.New("watch lost")
	// ErrLeaseNotFound means that the lease ended or never existed.
	ErrLeaseNotFound = errors.New("the lease has ended: it was not renewed in time")
	// ErrFutureRevision means that the requested revision has not happened yet.
	ErrFutureRevision = errors.New("revision is in the future")
	// ErrInvalid means that the transaction contradicts itself (a key written twice, an empty key); nothing was
	// written.
	ErrInvalid = errors.New("invalid transaction")
	// ErrTooLarge means that the transaction exceeds the backend's limits; nothing was written.
	ErrTooLarge = errors.New("transaction too large")
	// ErrNoSpace means that the store's disk or quota is full; reads succeed, writes are refused.
	ErrNoSpace = errors.New("the store is out of space")
	// ErrFull means that the server's own database has reached its quota: an ErrNoSpace that deleting objects ends.
	ErrFull = fmt.Errorf("%w: its database is full", ErrNoSpace)
	// ErrQuota means that an etcd that the user runs has reached its quota: an ErrNoSpace that only the owner of that etcd
	// can end.
	ErrQuota = errors.New("the store's etcd has reached its quota")
	// ErrNoQuorum means that more than half of the store's servers are down or can't be reached.
	ErrNoQuorum = errors.New("the store has no quorum")
	// ErrNoAnswer means that the etcd that the store is in could not be reached, or does not answer.
	ErrNoAnswer = errors.New("the store's etcd does not answer")
	// ErrStalled means that the store's disk does not finish what is written to it.
	ErrStalled = errors.New("the store's disk does not answer")
	// ErrSlow means that the store did not answer in time.
	ErrSlow = errors.New("the store does not answer in time")
	// ErrPaused means that the server refuses writes until a person resumes the cluster.
	ErrPaused = errors.New("the server is paused")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store closed")
	// ErrUnknownOutcome means that a commit was sent and not answered. It may have been applied, may be applied later,
	// or never.
	ErrUnknownOutcome = errors.New("outcome unknown")
)

// Why returns the cause in an error of a store that doesn't answer, without the operation that failed.
func Why(err error) error {
	for _, reason := range []error{ErrNoQuorum, ErrNoAnswer, ErrStalled, ErrSlow} {
		for inner := errors.Unwrap(err); errors.Is(inner, reason) && inner.Error() != reason.Error(); {
			err, inner = inner, errors.Unwrap(inner)
		}
	}
	return err
}

// SpaceError is an ErrNoSpace, or an ErrFull, in words that name the place where room is missing.
type SpaceError struct {
	Cause error
	Text  string
}

func (e *SpaceError) Error() string { return e.Text }

// Unwrap returns ErrNoSpace or ErrFull.
func (e *SpaceError) Unwrap() error { return e.Cause }

// ConflictError names the precondition that did not hold.
type ConflictError struct {
	Key  string
	Want int64
	Have int64
}

func (e *ConflictError) Error() string {
	switch {
	case e.Want == 0:
		return fmt.Sprintf("conflict: %s exists already (revision %d)", e.Key, e.Have)
	case e.Have == 0:
		return fmt.Sprintf("conflict: %s is gone (expected revision %d)", e.Key, e.Want)
	}
	return fmt.Sprintf("conflict: %s is at revision %d, expected %d", e.Key, e.Have, e.Want)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
