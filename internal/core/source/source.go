package source

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// Error is a failure to poll or to apply a source.
type Error struct {
	// Reason is one of api's reasons of syncs.
	Reason string
	// Message says what failed, where and why; Next is the next step. Neither contains credentials.
	Message, Next string
}

func (e *Error) Error() string { return e.Message + "\nNext: " + e.Next }

// NewFault returns an Error; next is the next step.
func NewFault(reason, next, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...), Next: next}
}

// Applied is the result of an apply.
type Applied struct {
	// Revision was applied, at At; it is that which was fetched if Fault says why it was not.
	Revision string
	At       time.Time
	// Objects are all objects of the revision with the store's revision of each.
	Objects map[api.Ref]int64
	// Changes are objects that were written or pruned, and More counts the others; Committed is the store's revision of
	// the apply, 0 if it changed none.
	Changes   []api.SyncChange
	More      int
	Committed int64
	Fault     *Error
}

// AppliedBy returns the result of an apply, as far as its commit recorded it.
func AppliedBy(done api.Synced, committed int64) Applied {
	return Applied{Revision: done.Revision, At: done.At, Changes: done.Changes, More: done.More, Committed: committed}
}

// State holds what is known of a sync. It begins empty with every change of its object.
type State struct {
	// Polls counts the polls that ended. PollFault is the failure of the last one; Revision is that of the last good one.
	Polls     int
	PollFault *Error
	Revision  string
	// Applying: an apply is under way. Applied is the last one that ended, nil before, and AppliedPoll the number of
	// polls when it began.
	Applying    bool
	Applied     *Applied
	AppliedPoll int
	// Drifted: an object is not as the last apply left it.
	Drifted bool
}

// Apply reports whether the revision is to be applied now: it is new, the last apply failed and the source was polled
// since, or an object was changed or deleted. What can't be fetched is not applied, also if an older copy is there.
func (s State) Apply() bool {
	switch {
	case s.Applying || s.Polls == 0 || s.PollFault != nil:
		return false
	case s.Applied == nil || s.Applied.Revision != s.Revision:
		return s.Applied == nil || s.Polls > s.AppliedPoll
	case s.Applied.Fault != nil:
		return s.Polls > s.AppliedPoll
	}
	return s.Drifted
}

// Status returns the status that follows before.
func (s State) Status(object api.Object, revision int64, before api.SyncStatus, now time.Time) api.SyncStatus {
	next := before
	ready := api.Condition{Type: api.ConditionReady, Status: api.ConditionFalse}
	degraded := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	var failed *Error
	switch {
	case s.PollFault != nil:
		failed = s.PollFault
	case s.Applied == nil:
		if api.FindCondition(before.Conditions, api.ConditionReady) != nil {
			return before // it says what holds until the source was polled
		}
		ready.Status, ready.Reason, ready.Message = api.ConditionUnknown, api.ReasonFetching, "the source is being fetched"
		next.Conditions = api.SetCondition(next.Conditions, ready, now)
		return next
	case s.Applied.Fault != nil:
		failed = s.Applied.Fault
		next.Fetched = s.Applied.Revision
	default:
		ready.Status, ready.Reason = api.ConditionTrue, api.ReasonApplied
		ready.Message = fmt.Sprintf("%s applied: %s", Short(s.Applied.Revision), objects(len(s.Applied.Objects)))
		next = s.Applied.Into(next)
		next.Objects = len(s.Applied.Objects)
	}
	next.ObservedGeneration, next.ObservedRevision = object.Metadata.Generation, revision
	if spec, err := api.DecodeSpec[api.SyncSpec](object); err == nil {
		next.Source = spec.Source()
	}
	if failed != nil {
		ready.Reason, ready.Message, ready.Next = failed.Reason, failed.Message, failed.Next
		degraded.Status, degraded.Reason, degraded.Message, degraded.Next = api.ConditionTrue, failed.Reason,
			failed.Message, failed.Next
	}
	next.Conditions = api.SetCondition(api.SetCondition(next.Conditions, ready, now), degraded, now)
	return next
}

// Into adds what an apply did to a status. One that was refused leaves no trace; one that changed nothing of the
// revision that was applied before ends only the wait of another one that was fetched. What the status has already is
// not added again.
func (a Applied) Into(status api.SyncStatus) api.SyncStatus {
	if a.Fault != nil || a.Committed > 0 && a.Committed <= status.ChangedRevision {
		return status
	}
	status.Fetched = ""
	if a.Revision == status.Revision && a.Committed == 0 {
		return status
	}
	status.Revision, status.AppliedAt = a.Revision, a.At
	status.Changes, status.More = a.Changes, a.More
	status.ChangedRevision = max(status.ChangedRevision, a.Committed)
	return status
}

// Short returns a revision as people read it.
func Short(revision string) string {
	const digest, shown = "sha256:", 12
	switch {
	case len(revision) > len(digest)+shown && revision[:len(digest)] == digest:
		return revision[:len(digest)+shown]
	case len(revision) == 40:
		return revision[:shown]
	}
	return revision
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
