package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/verbs"
)

type availabilityQuery struct {
	Node           string `path:"node"`
	Availability   string `query:"availability" required:"true"`
	ForceConflicts bool   `query:"force_conflicts"`
}

func (s *Server) setAvailability(ctx context.Context, in *availabilityQuery) (api.VerbResult, error) {
	result, err := s.Verbs.SetAvailability(ctx, in.Node, in.Availability,
		verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts})
	if err == nil {
		s.settle(ctx, result.Revision)
	}
	return result, err
}

type ingressNodeQuery struct {
	Node           string `path:"node"`
	Serves         bool   `query:"serves" required:"true"`
	ForceConflicts bool   `query:"force_conflicts"`
}

func (s *Server) setNodeIngress(ctx context.Context, in *ingressNodeQuery) (api.VerbResult, error) {
	result, err := s.Verbs.SetIngress(ctx, in.Node, in.Serves,
		verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts})
	if err == nil {
		s.settle(ctx, result.Revision)
	}
	return result, err
}

type downQuery struct {
	Node   string `path:"node"`
	DryRun bool   `query:"dry_run"`
}

func (s *Server) confirmNodeDown(ctx context.Context, in *downQuery) (api.NodeDownResult, error) {
	return s.nodeDown(ctx, in.Node, verbs.ConfirmDown, in.DryRun)
}

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
	return s.nodeDown(ctx, in.Node, how, in.DryRun)
}

func (s *Server) nodeDown(ctx context.Context, node string, how verbs.Down, dryRun bool) (api.NodeDownResult, error) {
	if dryRun {
		return s.Verbs.WouldBeDown(ctx, node, how)
	}
	result, err := s.Verbs.NodeDown(ctx, node, how, actorOf(ctx))
	if err == nil {
		s.settle(ctx, result.Revision)
	}
	return result, err
}
