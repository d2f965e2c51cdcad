package server

import (
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
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	for _, wanted := range in.Body.Objects {
		if refused := access.AllowScope(callerOf(ctx).grant, wanted.Scope); refused != nil {
			return api.AwaitResult{}, refused
		}
	}
	snap, err := s.snapshot()
	if err != nil {
		return api.AwaitResult{}, err
	}
	if snap.Revision() == in.Body.Since {
		changes := s.View.Watch(ctx, view.WatchOptions{From: in.Body.Since + 1})
		select {
		case <-changes.Changes(): // also if it ended: then the state is to be read anyway
		case <-s.closing:
		}
		if ended := endOf(ctx); ended != nil {
			return api.AwaitResult{}, ended
		}
		if snap, err = s.snapshot(); err != nil {
			return api.AwaitResult{}, err
		}
	}
	outcomes, err := outcome.Judge(in.Body.Objects, func(ref api.Ref) outcome.Observed { return observed(snap, ref) })
	return api.AwaitResult{Revision: snap.Revision(), Outcomes: outcomes}, err
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
