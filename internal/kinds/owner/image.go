package owner

import (
	"fmt"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// Image returns the nodes' answer to a request for an image; one that has the image counts more than any other, and of
// several that have it the one that is still asked. An image that one node can't get may be on another: a failure is
// the answer once all of candidates have failed. What fails to build on one node fails on all.
func Image(answers []records.Read[api.ImageStatus], asked api.ImageRequest, candidates []string) api.ImageStatus {
	best, first, present, tried := api.ImageStatus{}, api.ImageStatus{}, map[string]api.ImageStatus{}, map[string]bool{}
	for _, answer := range answers {
		s := *answer.Value
		if !s.Answers(asked) || !fit.Kind(asked.Runtime).Takes(s.Runtime) {
			continue
		}
		tried[s.Node] = true
		switch {
		case s.State == api.ImagePresent:
			present[s.Node] = s
		case s.State != api.ImageFailed && s.Attempts == 0 && first.State == "":
			first = s
		case best.State == "":
			best = s
		}
	}
	switch {
	case len(present) > 0:
		return present[placement.Answer(asked.Owner.String(), slices.Collect(maps.Keys(present)))]
	case first.State != "":
		return first
	case asked.Build == nil && slices.ContainsFunc(candidates, func(node string) bool { return !tried[node] }):
		return api.ImageStatus{}
	}
	if best.State == api.ImagePulling && best.Attempts > 0 && best.Progress <= 0 {
		best.State = api.ImageFailed // the next attempt has brought nothing yet: the last one's failure stands
	}
	return best
}

// Candidates returns those of the nodes whose answer about an owner's image is waited for: not one that was
// asked in vain, nor one of another kind of runtime than is asked for.
func Candidates(s records.Snapshot, ref api.Ref, nodes NodeSet) []string {
	request, vain, all := s.ImageRequest(ref), s.Unanswered(ref), nodes.Candidates
	if request.Exists() && request.Value.Runtime != "" {
		kind := fit.Kind(request.Value.Runtime)
		all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !kind.Takes(nodes.runtimes[name]) })
	}
	if !request.Exists() || !vain.Exists() || !vain.Value.Of(*request.Value) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(node string) bool {
		return slices.Contains(vain.Value.Nodes,
			node)
	})
}

// Asked returns the node that an owner's image was asked of, if it gave no sign yet.
func Asked(s records.Snapshot, request records.Read[api.ImageRequest], answers []records.Read[api.ImageStatus]) string {
	if !request.Exists() || slices.ContainsFunc(answers, func(a records.Read[api.ImageStatus]) bool {
		return a.Value.Answers(*request.Value) && a.Value.State != api.ImageFailed
	}) {
		return ""
	}
	return imageask.Waiting(s, *request.Value)
}

// ImageProgress returns what an owner waits for while it has no image yet. name is the image that it asks for; empty
// means that its source was never sent. asked is the node that was asked for it and gave no sign yet.
func ImageProgress(image api.ImageStatus, name, asked string, nodes []records.Read[api.NodeStatus]) string {
	switch {
	case name == "":
		return control.NoTree
	case image.State == api.ImageBuilding:
		return control.Building(image)
	case image.State == api.ImagePulling && image.Progress >= 0:
		return fmt.Sprintf("pulling %s on node %s: %d%%", name, image.Node, image.Progress)
	case image.State == api.ImagePulling:
		return fmt.Sprintf("pulling %s on node %s", name, image.Node)
	}
	if message := control.NodesDown(nodes); message != "" {
		return message
	}
	if asked != "" {
		return "waiting for node " + asked + " to look for image " + name
	}
	return "waiting for a node to look for image " + name
}
