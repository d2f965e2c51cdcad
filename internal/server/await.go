package server

import (
	"cmp"
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/core/outcome"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// awaitBody is a request for outcomes.
type awaitBody struct{ Body api.AwaitRequest }

// await returns the outcome of writes: at once, or once something has changed since an earlier answer.
func (s *Server) await(ctx context.Context, in *awaitBody) (api.AwaitResult, error) {
	if err := checkAwaited(callerOf(ctx).grant, in.Body.Objects); err != nil {
		return api.AwaitResult{}, err
	}
	ctx, end, err := s.openStream(ctx, "wait")
	if err != nil {
		return api.AwaitResult{}, err
	}
	defer end()
	snap, err := s.snapshot()
	if err != nil {
		return api.AwaitResult{}, err
	}
	if snap.Revision() == in.Body.Since {
		if err := s.awaitChange(ctx, in.Body.Since); err != nil {
			return api.AwaitResult{}, err
		}
		if snap, err = s.snapshot(); err != nil {
			return api.AwaitResult{}, err
		}
	}
	outcomes, err := outcome.Judge(in.Body.Objects, func(ref api.Ref) outcome.Observed {
		if ctx.Err() != nil {
			return outcome.Observed{} // nobody reads the answer
		}
		return observed(snap, ref)
	})
	return api.AwaitResult{Revision: snap.Revision(), Outcomes: outcomes}, cmp.Or(endOf(ctx), ctx.Err(), err)
}

// checkAwaited returns an error if a caller may not ask about the objects, or asks about too many at once.
func checkAwaited(grant access.Grant, objects []api.Awaited) error {
	if len(objects) > api.MaxApplyObjects {
		return badRequest("ask about some of them, then about the next ones",
			"%d objects are to be awaited, more than %d", len(objects), api.MaxApplyObjects)
	}
	seen := make(map[api.Ref]bool, len(objects))
	for _, wanted := range objects {
		if refused := access.AllowScope(grant, wanted.Scope); refused != nil {
			return refused
		}
		if seen[wanted.Ref] {
			return badRequest("name each object once", "%s is to be awaited twice", clip(wanted.Ref.String()))
		}
		seen[wanted.Ref] = true
	}
	return nil
}

// awaitChange returns once the view is beyond a revision, the server shuts down, or longestWait has passed.
func (s *Server) awaitChange(ctx context.Context, since int64) error {
	waiting, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	changes := s.View.Watch(waiting, view.WatchOptions{From: since + 1})
	select {
	case <-changes.Changes(): // also if it ended: then the state is to be read anyway
	case <-s.closing:
	}
	return endOf(ctx)
}

// observed returns what core/outcome needs to judge a write: the object with its status, its pods and its releases.
func observed(snap records.Snapshot, ref api.Ref) outcome.Observed {
	found, err := verbs.TargetOf(ref).Resolve(snap)
	if err != nil {
		return outcome.Observed{}
	}
	seen := outcome.Observed{Found: true, Object: withStatus(snap, *snap.Object(found).Value),
		Pods: podsOwnedBy(snap, ref)}
	for _, release := range snap.Releases(found) {
		seen.Releases = append(seen.Releases, *release.Value)
	}
	return seen
}
