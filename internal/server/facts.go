package server

import (
	"context"
	"slices"

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
		if pod.Live() && pod.Role == api.RoleMain {
			pods[pod.Release]++
		}
	}
	runs := map[string][]api.Run{}
	for _, run := range snap.Runs(ref) {
		if run.Value.Trigger == api.TriggerRelease {
			runs[run.Value.Release] = append(runs[run.Value.Release], *run.Value)
		}
	}
	out := []api.ReleaseInfo{}
	for _, read := range snap.Releases(ref) {
		r := read.Value
		out = append(out, api.ReleaseInfo{ID: r.ID, Number: r.Number, Kind: r.Kind, Scope: r.Scope, Name: r.Name,
			SpecHash: r.SpecHash, EnvHash: r.EnvHash, Image: r.Image, ImageID: r.ImageID, RolledBackFrom: r.RolledBackFrom,
			Generation: r.Generation, Reason: r.Reason, CreatedAt: r.CreatedAt,
			Current: r.ID == current, Good: r.ID == good, Pods: pods[r.ID], Runs: runs[r.ID]})
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
		if why := s.Full(); why != "" && info.ID == s.Node { // what it reports, its heartbeat too, is refused
			info.Alive, info.Ready, info.Reason, info.Message = true, false, api.ReasonDiskFull, why
		}
		for _, pod := range podsOf(snap, podFilter{node: info.ID}) {
			if pod.Live() {
				info.Pods++
			}
		}
		out = append(out, info)
	}
	return api.ListResult[api.NodeInfo]{Items: out, Revision: snap.Revision()}, nil
}
