package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

type rebalanceQuery struct {
	Scope  string `query:"scope"`
	Name   string `query:"name"`
	DryRun bool   `query:"dry_run"`
}

func (s *Server) rebalance(ctx context.Context, in *rebalanceQuery) (api.RebalanceResult, error) {
	result, err := s.Verbs.Rebalance(ctx,
		verbs.RebalanceOptions{Scope: in.Scope, Name: in.Name, DryRun: in.DryRun, Actor: actorOf(ctx)})
	if err == nil && result.Changed {
		s.settle(ctx, result.Revision)
	}
	return result, err
}
