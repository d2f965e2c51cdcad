package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

type removeQuery struct {
	Node   string `path:"node"`
	Force  bool   `query:"force"`
	DryRun bool   `query:"dry_run"`
}

func (s *Server) removeNode(ctx context.Context, in *removeQuery) (api.NodeDownResult, error) {
	how := verbs.RemoveNode
	if in.Force {
		how = verbs.ForceNodeOut
	}
	result, err := s.Verbs.NodeDown(ctx, in.Node, how, in.DryRun, actorOf(ctx))
	if err == nil {
		s.settle(ctx, result.Revision)
	}
	return result, err
}
