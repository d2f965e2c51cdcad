package server

import (
	"context"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// statsTime bounds a round of samples: a hanging engine delays neither the caller nor the server's shutdown for longer.
const statsTime = 10 * time.Second

// stats samples the live pods once. The entry of a pod that can't be sampled holds the reason.
func (s *Server) stats(ctx context.Context, in *podsQuery) (api.ListResult[api.PodStats], error) {
	var none api.ListResult[api.PodStats]
	filter, err := in.filter(ctx)
	if err != nil {
		return none, err
	}
	snap, err := s.snapshot()
	if err != nil {
		return none, err
	}
	live := slices.DeleteFunc(podsOf(snap, filter), func(p api.Pod) bool { return !p.Live() || p.Container == "" })
	placed := make([]nodeapi.Placed, len(live))
	for i, pod := range live {
		placed[i] = nodeapi.Placed{Node: pod.Node, Pod: pod.Task}
	}
	ctx, end := s.untilClosing(ctx, statsTime)
	defer end()
	out := make([]api.PodStats, len(live))
	for i, usage := range s.Nodes.Sample(ctx, placed, nodeapi.Node.Stats) {
		out[i] = podStats(live[i], usage)
	}
	return api.ListResult[api.PodStats]{Items: out, Revision: snap.Revision()}, nil
}

// untilClosing returns a context that ends after a while, and when the server does.
func (s *Server) untilClosing(ctx context.Context, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	recovery.Go(func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}

func podStats(pod api.Pod, usage container.Usage) api.PodStats {
	out := api.PodStats{Pod: pod.Name, Kind: pod.Kind, Scope: pod.Scope, Resource: pod.Resource, Node: pod.Node}
	if usage.Err != nil {
		out.Error = usage.Err.Error()
		return out
	}
	out.CPUPercent, out.MemoryBytes, out.MemoryLimitBytes = usage.CPUPercent, usage.MemoryBytes, usage.MemoryLimit
	out.PIDs, out.NetRxBytes, out.NetTxBytes = usage.PIDs, usage.NetRx, usage.NetTx
	out.BlockReadBytes, out.BlockWriteBytes, out.At = usage.BlockRead, usage.BlockWrite, usage.At
	return out
}
