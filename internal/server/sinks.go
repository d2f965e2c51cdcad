package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
)

var _ = declare(verb.Verb{
	Name: "test", Summary: "Send a test to a sink's receiver and say what came back", Rule: access.Admins("sinks test"),
	Kind: api.KindSink,
}, (*Server).testSink)

// testSink sends a test to a sink's receiver and answers with the receiver's response.
func (s *Server) testSink(ctx context.Context, target verbs.Target, _ struct{}) (api.SinkTest, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.SinkTest{}, err
	}
	ref, err := target.Resolve(snap)
	if err != nil {
		return api.SinkTest{}, err
	}
	if s.TestSink == nil {
		return api.SinkTest{}, badRequest("tend sinks", "this server has no sinks")
	}
	s.Logger.InfoContext(ctx, "sink tested", "object", ref.String(), "actor", actorOf(ctx))
	return s.TestSink(ctx, *snap.Object(ref).Value)
}
