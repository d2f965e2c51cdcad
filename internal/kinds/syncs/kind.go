package syncs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/watcher"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// Bounds of what is done at once.
const (
	// pollsAtOnce is the most polls at a time, and the most of slow sources beside them; applyTime the most time that
	// an apply may take.
	pollsAtOnce = 8
	applyTime   = 5 * time.Minute
	// slowest bounds the time between polls of a remote source that fails, and listTime that of a poll with the wait
	// for its turn.
	slowest  = 15 * time.Minute
	listTime = time.Hour
)

// Sources fetches and applies what syncs name. It keeps what it fetched by the uid of the sync.
type Sources interface {
	// Poll fetches the source, if it has changed, and returns its revision and its files. Its error is a *source.Error,
	// if the source is the cause.
	Poll(ctx context.Context, object api.Object) (revision string, files []source.File, err error)
	// Apply applies what Poll fetched, or nothing of it. It commits through the term of this server, and only while the
	// sync is as it is in object.
	Apply(ctx context.Context, through records.Committer, object api.Object) source.Applied
	// Keep removes what was fetched for any other sync, Drop what was fetched for one. Neither waits for a poll: one may
	// hang, and what it holds is removed when it ends.
	Keep(uids []string)
	Drop(uid string)
}

// Options holds the dependencies of syncs, besides those of every kind.
type Options struct {
	Sources Sources
	// Metrics may be nil.
	Metrics *watcher.Metrics
}

// syncs decides about syncs, and polls and applies their sources.
type syncs struct {
	Options
	deps  control.Deps
	turns *turns
	// sweep removes once what was fetched for syncs that are gone.
	sweep sync.Once
}

// callApply is the name of an apply: one ends before the next begins, also that of another object of the name.
const callApply = "apply"

// known is the memo of a step: what is known of a sync in one revision of its object, which the call that polls it
// names.
type known struct {
	poll  string
	state source.State
}

// polled is the result of a poll, and applied that of an apply: of the sync with uid, when begun was known of it.
type (
	polled struct {
		revision string
		fault    *source.Error
	}
	applied struct {
		uid   string
		begun known
		source.Applied
	}
)

// Kind returns the kind of syncs.
func Kind(deps control.Deps, o Options) control.Kind {
	c := &syncs{Options: o, deps: deps.Defaults(), turns: newTurns()}
	return control.Kind{
		KindInfo: api.KindSync.Info(), Step: c.step, Call: c.call, Workers: 2,
		Gone: func(o control.Observation) (control.Step, error) {
			return control.Forget(o, records.SyncedKey(o.Ref.Name)), nil
		},
		Reads: []control.Input{control.Named(records.SyncedPrefix, func(name string) []api.Ref {
			return []api.Ref{{Kind: api.KindSync, Scope: api.Unscoped, Name: name}}
		})},
	}
}

// step has a sync polled, applies what its source has, and writes its status. A change of the object begins from
// nothing.
func (c *syncs) step(o control.Observation) (control.Step, error) {
	poll := fmt.Sprintf("poll %d/%d", o.Object.Created, o.Object.Modified)
	memo := control.Recall[known](o)
	if memo.poll != poll {
		memo = known{poll: poll}
	}
	if p, ok := control.Answer[polled](o, poll); ok {
		memo.state.Polls++
		memo.state.PollFault = p.fault
		if p.fault == nil {
			memo.state.Revision = p.revision
		}
	}
	before := control.Before[api.SyncStatus](o)
	since := recorded(o, before)
	switch a, ok := control.Answer[applied](o, callApply); {
	case ok && a.begun.poll == poll:
		result := a.Applied // a pointer into a would keep what it began from, and that of every apply before
		memo.state.Applied, memo.state.AppliedPoll = &result, a.begun.state.Polls
	case ok && a.uid == o.Object.Value.Metadata.UID: // the sync was changed or asked for a poll since the apply began
		since = a.Applied.Into(since)
	}
	state := memo.state
	_, state.Applying = o.Going[callApply]
	state.Drifted = drifted(o.Snapshot, state.Applied)
	next := control.Step{
		Status: state.Status(*o.Object.Value, o.Object.Modified, since, o.Now),
		Calls:  []control.Call{{Name: poll, Text: text(*o.Object.Value, before)}}, Memo: memo,
	}
	next.Log = func(log *slog.Logger) { report(log, before, next.Status.(api.SyncStatus)) }
	if state.Apply() {
		next.Calls = append(next.Calls, control.Call{Name: callApply, Limit: applyTime, Request: memo})
	}
	return next, nil
}

// recorded returns a status with what the commit of the last apply says of it: a server that ended before it wrote the
// status leaves it to the next one.
func recorded(o control.Observation, status api.SyncStatus) api.SyncStatus {
	done := o.Synced(o.Ref.Name)
	if !done.Exists() || done.Value.UID != o.Object.Value.Metadata.UID {
		return status
	}
	return source.AppliedBy(*done.Value, done.Modified).Into(status)
}

// text says that a sync is polled from now on; empty if it has been in this generation.
func text(object api.Object, before api.SyncStatus) string {
	spec, err := api.DecodeSpec[api.SyncSpec](object)
	if err != nil || before.ObservedGeneration == object.Metadata.Generation {
		return ""
	}
	return fmt.Sprintf("poll %s, and apply what it holds", spec.Source())
}

// drifted reports whether an object is not as an apply left it.
func drifted(s records.Snapshot, a *source.Applied) bool {
	if a == nil {
		return false
	}
	for ref, revision := range a.Objects {
		object := s.Object(ref)
		going := object.Exists() && object.Value.Metadata.Deleting() // it is made again once it is gone
		if object.Modified != revision && s.Revision() >= revision && !going {
			return true
		}
	}
	return false
}

// report logs a status that says something else than the one before.
func report(log *slog.Logger, before, next api.SyncStatus) {
	was, is := api.FindCondition(before.Conditions, api.ConditionReady),
		api.FindCondition(next.Conditions, api.ConditionReady)
	log = log.With("source", next.Source)
	switch {
	case is.Status == api.ConditionFalse && (was == nil || was.Message != is.Message):
		log.Warn("sync failed; what is applied stays", "reason", is.Reason, "error", is.Message, "next", is.Next)
	case is.Status == api.ConditionTrue && (before.Revision != next.Revision ||
		!before.AppliedAt.Equal(next.AppliedAt)):
		log.Info("sync applied", "revision", next.Revision, "objects", next.Objects, "changed",
			len(next.Changes)+next.More)
	}
}
