package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

// testSink sends a test to a sink's receiver and answers what came back.
func (s *Server) testSink(ctx context.Context, name string) (api.SinkTest, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.SinkTest{}, err
	}
	ref, err := verbs.TargetOf(api.Ref{Kind: api.KindSink, Scope: api.Unscoped, Name: name}).Resolve(snap)
	if err != nil {
		return api.SinkTest{}, err
	}
	if s.TestSink == nil {
		return api.SinkTest{}, badRequest("tend sinks", "this server has no sinks")
	}
	s.Logger.InfoContext(ctx, "sink tested", "object", ref.String(), "actor", actorOf(ctx))
	return s.TestSink(ctx, *snap.Object(ref).Value)
}
