package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/verbs"
)

type nodePath struct {
	Node string `path:"node"`
}

type availabilityQuery struct {
	Node           string `path:"node"`
	Availability   string `query:"availability" required:"true"`
	ForceConflicts bool   `query:"force_conflicts"`
}

func (s *Server) setAvailability(ctx context.Context, in *availabilityQuery) (api.VerbResult, error) {
	result, err := s.Verbs.SetAvailability(ctx, in.Node, in.Availability, verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts})
	if err == nil {
		s.settle(ctx, result.Revision)
	}
	return result, err
}

func (s *Server) confirmNodeDown(ctx context.Context, in *nodePath) (api.NodeDownResult, error) {
	return s.nodeDown(ctx, in.Node, false)
}

func (s *Server) removeNode(ctx context.Context, in *nodePath) (api.NodeDownResult, error) {
	return s.nodeDown(ctx, in.Node, true)
}

func (s *Server) nodeDown(ctx context.Context, node string, remove bool) (api.NodeDownResult, error) {
	result, err := s.Verbs.NodeDown(ctx, node, remove, actorOf(ctx))
	if err == nil {
		s.settle(ctx, result.Revision)
	}
	return result, err
}
