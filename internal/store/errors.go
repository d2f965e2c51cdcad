package store

import (
	"errors"
	"fmt"
)

// The errors a backend answers with.
var (
	// ErrNotFound: the key does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict: a precondition did not hold; read again and decide anew.
	ErrConflict = errors.New("conflict")
	// ErrCompacted: the asked revision is no longer kept; list again.
	ErrCompacted = errors.New("revision compacted")
	// ErrWatchLost: the backend ended the watch; list again.
	ErrWatchLost = errors.New("watch lost")
	// ErrLeaseNotFound: the lease ended or never was.
	ErrLeaseNotFound = errors.New("lease not found")
	// ErrFutureRevision: the asked revision has not happened yet.
	ErrFutureRevision = errors.New("revision is in the future")
	// ErrInvalid: the transaction contradicts itself (a key written twice, an empty key); nothing was written.
	ErrInvalid = errors.New("invalid transaction")
	// ErrTooLarge: the transaction exceeds what the backend takes; nothing was written.
	ErrTooLarge = errors.New("transaction too large")
	// ErrNoSpace: the store's disk or quota is full; reads go on, writes are refused.
	ErrNoSpace = errors.New("store is out of space")
	// ErrPaused: the server takes no writes until an operator resumes.
	ErrPaused = errors.New("the server is paused")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store closed")
	// ErrUnknownOutcome: a commit was sent and not answered. It may have been applied, may be applied later, or never.
	ErrUnknownOutcome = errors.New("outcome unknown")
)

// ConflictError says which precondition did not hold.
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

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
