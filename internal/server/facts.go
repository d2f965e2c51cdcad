package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// releaseInfos are an object's releases, newest first.
func releaseInfos(snap layout.Snapshot, ref api.Ref) []api.ReleaseInfo {
	var current, good string
	if status := snap.WorkloadStatus(ref); status.Exists() {
		current = status.Value.Release
		if status.Value.Rollout != nil {
			good = status.Value.Rollout.LastGoodRelease
		}
	}
	pods := map[string]int{}
	for _, pod := range podsOf(snap, podFilter{kind: ref.Kind, scope: ref.Scope, name: ref.Name}) {
		if pod.Live() {
			pods[pod.Release]++
		}
	}
	out := []api.ReleaseInfo{}
	for _, read := range snap.Releases(ref) {
		r := read.Value
		out = append(out, api.ReleaseInfo{ID: r.ID, Number: r.Number, Kind: r.Kind, Scope: r.Scope, Name: r.Name,
			SpecHash: r.SpecHash, EnvHash: r.EnvHash, Image: r.Image, ImageID: r.ImageID, RolledBackFrom: r.RolledBackFrom,
			Generation: r.Generation, Reason: r.Reason, CreatedAt: r.CreatedAt,
			Current: r.ID == current, Good: r.ID == good, Pods: pods[r.ID]})
	}
	slices.Reverse(out)
	return out
}

func (s *Server) nodes(context.Context, *struct{}) (api.ListResult[api.NodeInfo], error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.ListResult[api.NodeInfo]{}, err
	}
	out := []api.NodeInfo{}
	for _, read := range snap.Nodes() {
		info := api.NodeInfo{NodeStatus: *read.Value, Alive: snap.Alive(read.Value.ID)}
		for _, pod := range podsOf(snap, podFilter{node: info.ID}) {
			if pod.Live() {
				info.Pods++
			}
		}
		out = append(out, info)
	}
	return api.ListResult[api.NodeInfo]{Items: out, Revision: snap.Revision()}, nil
}

// samples are taken side by side, but not all at once: the engine serves others too.
const samplesAtOnce = 8

// stats samples the live pods once. One that can't be sampled says why; the others are told all the same.
func (s *Server) stats(ctx context.Context, in *podsQuery) (api.ListResult[api.PodStats], error) {
	var none api.ListResult[api.PodStats]
	containers, err := s.containers()
	if err != nil {
		return none, err
	}
	filter, err := in.filter()
	if err != nil {
		return none, err
	}
	snap, err := s.snapshot()
	if err != nil {
		return none, err
	}
	live := slices.DeleteFunc(podsOf(snap, filter), func(p api.Pod) bool { return !p.Live() || p.Container == "" })
	out := make([]api.PodStats, len(live))
	places := make(chan struct{}, samplesAtOnce)
	var wait sync.WaitGroup
	for i, pod := range live {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			out[i] = sample(ctx, containers, pod)
		})
	}
	wait.Wait()
	return api.ListResult[api.PodStats]{Items: out, Revision: snap.Revision()}, nil
}

func sample(ctx context.Context, containers Containers, pod api.Pod) api.PodStats {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out := api.PodStats{Pod: pod.Name, Kind: pod.Kind, Scope: pod.Scope, Resource: pod.Resource, Node: pod.Node}
	taken, err := containers.Stats(ctx, pod.Task)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.CPUPercent, out.MemoryBytes, out.MemoryLimitBytes = taken.CPUPercent, taken.MemoryBytes, taken.MemoryLimit
	out.PIDs, out.NetRxBytes, out.NetTxBytes = taken.PIDs, taken.NetRx, taken.NetTx
	out.BlockReadBytes, out.BlockWriteBytes, out.At = taken.BlockRead, taken.BlockWrite, taken.At
	return out
}
