package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

// endLab carries out a stop of a lab's pod, or of the lab as an object that has pods.
func (s *Server) endLab(ctx context.Context, target verbs.Target) (api.StopResult, error) {
	result, err := s.Verbs.StopLabs(ctx, target, actorOf(ctx))
	s.settle(ctx, result.Revision)
	out := api.StopResult{Object: target.Ref(), Changed: result.Changed, Revision: result.Revision}
	snap, errSnap := s.snapshot()
	if err == nil && errSnap == nil {
		if status := snap.LabStatus(out.Object); status.Exists() && status.Value.Pod != "" {
			out.Pods = []string{status.Value.Pod}
		}
	}
	return withPods(out), err
}
