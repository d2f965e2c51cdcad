package server

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/verbs"
)

// LabQuery names a lab or a class of labs.
type LabQuery struct {
	Scope string `query:"scope"`
	Name  string `query:"name" required:"true"`
}

func (q LabQuery) target() verbs.Target {
	return verbs.Target{Kind: api.KindLab, Scope: q.Scope, Name: q.Name}
}

type extendQuery struct {
	LabQuery
	For string `query:"for" required:"true"`
}

// extendLabs gives labs more time.
func (s *Server) extendLabs(ctx context.Context, in *extendQuery) (api.LabResult, error) {
	more, err := time.ParseDuration(in.For)
	if err != nil {
		return api.LabResult{}, badRequest("say how much more, such as for=30m", "for %s is not a duration", clip(in.For))
	}
	result, err := s.Verbs.ExtendLabs(ctx, in.target(), more, actorOf(ctx))
	s.settle(ctx, result.Revision)
	return result, err
}

// stopLabs ends labs.
func (s *Server) stopLabs(ctx context.Context, in *LabQuery) (api.LabResult, error) {
	result, err := s.Verbs.StopLabs(ctx, in.target(), actorOf(ctx))
	s.settle(ctx, result.Revision)
	return result, err
}

// endLab carries out a stop of a lab's pod, or of the lab as an object that has pods.
func (s *Server) endLab(ctx context.Context, target verbs.Target) (api.StopResult, error) {
	result, err := s.stopLabs(ctx, &LabQuery{Scope: target.Scope, Name: target.Name})
	out := api.StopResult{Object: api.Ref(target), Changed: result.Changed, Revision: result.Revision}
	snap, errSnap := s.snapshot()
	if err == nil && errSnap == nil {
		if status := snap.LabStatus(out.Object); status.Exists() && status.Value.Pod != "" {
			out.Pods = []string{status.Value.Pod}
		}
	}
	return withPods(out), err
}
