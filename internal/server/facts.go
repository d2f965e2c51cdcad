package server

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/store/records"
)

// releaseInfos returns an object's releases, newest first.
func (s *Server) releaseInfos(snap records.Snapshot, ref api.Ref) []api.ReleaseInfo {
	status := api.WorkloadStatus{Rollout: &api.RolloutStatus{}}
	if read := snap.ReleaseStatus(ref); read != nil {
		status.Release, status.Outcomes = read.Release, read.Outcomes
		status.Rollout = cmp.Or(read.Rollout, status.Rollout)
	}
	pods := podsOfReleases(snap, ref, status.Release)
	runs := map[string][]api.Run{}
	for _, run := range snap.Runs(ref) {
		if run.Value.Trigger == api.TriggerRelease {
			runs[run.Value.Release] = append(runs[run.Value.Release], *run.Value)
		}
	}
	out := []api.ReleaseInfo{}
	var before *api.Release
	for _, read := range snap.Releases(ref) {
		r := read.Value
		info := api.ReleaseInfo{ID: r.ID, Number: r.Number, Kind: r.Kind, Scope: r.Scope, Name: r.Name,
			SpecHash: r.SpecHash, EnvHash: r.EnvHash, Image: r.Image, ImageID: r.ImageID, RolledBackFrom: r.RolledBackFrom,
			Generation: r.Generation, Reason: r.Reason, Change: r.Change, CreatedAt: r.CreatedAt,
			Current: r.ID == status.Release, Good: status.Outcomes[r.ID].Good || r.ID == status.Rollout.LastGoodRelease,
			Pods: pods[r.ID], Runs: runs[r.ID]}
		if outcome := status.Outcomes[r.ID]; !info.Good {
			info.Failed, info.Message = outcome.Reason, outcome.Message
		}
		info.HelmRevision, info.HelmChart = status.Outcomes[r.ID].HelmRevision, status.Outcomes[r.ID].HelmChart
		if ref.Kind.HasVersions() {
			info.Chart, info.Replaced = chartOf(*r), !info.Current && !info.Good && info.Failed == ""
		}
		if info.Changed = r.Changed; before != nil && len(info.Changed) == 0 {
			info.Changed = s.Verbs.ReleaseChanges(*before, *r)
		}
		out, before = append(out, info), r
	}
	slices.Reverse(out)
	return out
}

// chartOf returns the name and the version of the chart of a release of an application instance; empty without one.
func chartOf(r api.Release) string {
	var spec api.ApplicationInstanceSpec
	if err := json.Unmarshal(r.Spec, &spec); err != nil || spec.Chart == nil {
		return ""
	}
	return spec.Chart.Name + " " + spec.Chart.Version
}

// podsOfReleases counts the live pods of each release. Pods of a release that the current one repeats count for the
// current one.
func podsOfReleases(snap records.Snapshot, ref api.Ref, current string) map[string]int {
	pods := map[string]int{}
	now := snap.Release(ref, current).Value
	for _, pod := range podsOf(snap, podFilter{kind: ref.Kind, scope: ref.Scope, name: ref.Name}) {
		if !pod.Live() || pod.Role != api.RoleMain {
			continue
		}
		release := pod.Release
		if runs := snap.Release(ref, release).Value; now != nil && runs != nil && now.Repeats(*runs) {
			release = current
		}
		pods[release]++
	}
	return pods
}

// roleOf returns the role of a node. The node of a server that is alone has no record.
func roleOf(snap records.Snapshot, node string) string {
	switch member := snap.Member(node); {
	case !member.Exists() || member.Value.Server != "":
		return api.NodeOfServer
	case snap.ServesIngress(node):
		return api.NodeIngress
	}
	return api.NodeWorker
}

func (s *Server) nodes(context.Context, *struct{}) (api.ListResult[api.NodeInfo], error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.ListResult[api.NodeInfo]{}, err
	}
	out := []api.NodeInfo{}
	for _, read := range snap.Nodes() {
		info := api.NodeInfo{NodeStatus: *read.Value, Spec: snap.NodeSpec(read.Value.ID), Alive: snap.Alive(read.Value.ID),
			Losses: snap.Losses(read.Value.ID).Value, Role: roleOf(snap, read.Value.ID)}
		info.Unheard, info.LastHeard = board.Unheard(snap, info.ID, s.Alone)
		if state := snap.NodeState(info.ID); state.Exists() &&
			(state.Value.State == api.NodeUp) == (info.Alive && !info.Unheard) {
			info.Since = state.Value.ChangedAt
		}
		if why := s.Full(); why != "" && info.ID == s.Node { // the store refuses this node's reports, also its heartbeat
			info.Alive, info.Ready, info.Reason, info.Message = true, false, api.ReasonDiskFull, why
			info.Conditions = slices.DeleteFunc(slices.Clone(info.Conditions), func(c api.Condition) bool {
				return c.Type == api.ConditionDiskPressure && c.Status == api.ConditionFalse // from before
			})
		}
		for _, pod := range podsOf(snap, podFilter{node: info.ID}) {
			if pod.Live() {
				info.Pods++
			}
		}
		out = append(out, info)
	}
	return api.ListResult[api.NodeInfo]{Items: append(out, neverReported(snap)...), Revision: snap.Revision()}, nil
}

// neverReported returns the nodes of machines that joined and never said what they are. Each has a certificate all the
// same.
func neverReported(snap records.Snapshot) (out []api.NodeInfo) {
	members := snap.Members()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member := members[name]
		if member.Removed || member.Server != "" || snap.Node(name).Exists() {
			continue
		}
		message := "a machine joined under this name and never reported"
		if snap.Alive(name) {
			message = "its agent answers, but no report of it was accepted: the logs of the agent and the server say why"
		}
		out = append(out, api.NodeInfo{
			NodeStatus: api.NodeStatus{ID: name, Reason: api.ReasonNeverReported, Message: message},
			Spec:       snap.NodeSpec(name), Alive: snap.Alive(name), Role: roleOf(snap, name), Since: member.JoinedAt,
		})
	}
	return out
}
