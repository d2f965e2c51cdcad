package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

// The parameters of what is asked of a node.
type (
	availabilityQuery struct {
		VerbPath
		Availability   string `query:"availability" required:"true"`
		ForceConflicts bool   `query:"force_conflicts"`
	}
	servesIngressQuery struct {
		VerbPath
		Serves         bool `query:"serves" required:"true"`
		ForceConflicts bool `query:"force_conflicts"`
	}
	downQuery struct {
		VerbPath
		DryRun bool `query:"dry_run"`
	}
)

// nodeVerbs registers what can be asked of a node.
func (s *Server) nodeVerbs() {
	verb(s, "availability", "Say what a node takes: active, cordoned or drained",
		func(ctx context.Context, target verbs.Target, in availabilityQuery) (api.VerbResult, error) {
			by := verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts}
			return only(target, api.KindNode, func(node string) (api.VerbResult, error) {
				return s.Verbs.SetAvailability(ctx, node, in.Availability, by)
			})
		})
	verb(s, "ingress", "Say whether a node serves ingresses",
		func(ctx context.Context, target verbs.Target, in servesIngressQuery) (api.VerbResult, error) {
			by := verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts}
			return only(target, api.KindNode, func(node string) (api.VerbResult, error) {
				return s.Verbs.SetIngress(ctx, node, in.Serves, by)
			})
		})
	verb(s, "down", "Say that a silent node is off: its pods are replaced at once",
		func(ctx context.Context, target verbs.Target, in downQuery) (api.NodeDownResult, error) {
			return only(target, api.KindNode, func(node string) (api.NodeDownResult, error) {
				return s.nodeDown(ctx, node, verbs.ConfirmDown, in.DryRun)
			})
		})
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
