package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"

	"tend.dev/tend/internal/store"
)

var (
	// ErrInUse means that another process has the data dir open.
	ErrInUse = errors.New("data directory is in use")
	// errNoDataDir means that no data directory is set.
	errNoDataDir = errors.New("embedded etcd needs a data directory")
)

// meanings maps etcd's errors to the store's.
var meanings = map[error]error{
	rpctypes.ErrCompacted:       store.ErrCompacted,
	rpctypes.ErrFutureRev:       store.ErrFutureRevision,
	rpctypes.ErrLeaseNotFound:   store.ErrLeaseNotFound,
	rpctypes.ErrNoSpace:         store.ErrNoSpace,
	rpctypes.ErrRequestTooLarge: store.ErrTooLarge,
	rpctypes.ErrTooManyOps:      store.ErrTooLarge,
}

// unanswered reports whether a call failed because etcd could not be reached or did not answer in time.
func unanswered(err error) bool {
	var answer rpctypes.EtcdError
	return errors.As(err, &answer) && answer.Code() == codes.Unavailable || errors.Is(err, context.DeadlineExceeded)
}

// noLeader are etcd's errors while the members have no leader, or lose it.
var noLeader = []error{rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTimeoutDueToLeaderFail,
	rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrTimeoutWaitAppliedIndex}

// slow are etcd's errors while it is overloaded.
var slow = []error{rpctypes.ErrTimeout, rpctypes.ErrTooManyRequests}

// refusals are etcd's errors for requests that it didn't propose. The store has no errors of its own for them.
var refusals = []error{rpctypes.ErrTooManyRequests, rpctypes.ErrNoLeader, rpctypes.ErrPermissionDenied,
	rpctypes.ErrUserEmpty}

// translateCommit converts the error of a commit to the store's. Anything that isn't surely a refusal may have been
// proposed before it failed: etcd can apply it after it has answered with a timeout.
func (s *calls) translateCommit(doing string, err error) error {
	translated := s.translate(doing, err)
	for theirs := range meanings {
		if errors.Is(err, theirs) {
			return translated
		}
	}
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return translated
		}
	}
	return &unknownError{translated}
}

// unknownError is store.ErrUnknownOutcome with its cause.
type unknownError struct{ cause error }

func (e *unknownError) Error() string {
	return e.cause.Error() + " (" + store.ErrUnknownOutcome.Error() + ")"
}

func (e *unknownError) Unwrap() []error { return []error{store.ErrUnknownOutcome, e.cause} }

// translate converts etcd's errors to the store's. Once the store has ended, that is the reason, whatever etcd
// returned.
func (s *calls) translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	for theirs, ours := range meanings {
		if errors.Is(err, theirs) {
			return fmt.Errorf("%s: %w", doing, ours)
		}
	}
	if s.lifetime.Err() != nil {
		return fmt.Errorf("%s: %w", doing, s.ended())
	}
	if errors.Is(err, rpctypes.ErrStopped) {
		return fmt.Errorf("%s: %w: %w", doing, store.ErrClosed, err)
	}
	if s.remote && unanswered(err) && !errors.Is(err, store.ErrNoAnswer) {
		return fmt.Errorf("%s: %w: %w", doing, store.ErrNoAnswer, err)
	}
	for _, theirs := range noLeader {
		if errors.Is(err, theirs) || errors.Is(err, rpctypes.ErrTimeout) && s.quorum() != nil {
			return fmt.Errorf("%s: %w: %w", doing, store.ErrNoQuorum, err)
		}
	}
	for _, theirs := range slow {
		if errors.Is(err, theirs) {
			return fmt.Errorf("%s: %w: %w", doing, store.ErrSlow, err)
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
