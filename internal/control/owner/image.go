package owner

import (
	"fmt"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Image returns the nodes' answer to a request for an image; one that has the image counts more than any other, and of several
// that have it the one that is still asked.
func Image(answers []records.Read[api.ImageStatus], asked api.ImageRequest) api.ImageStatus {
	best, present := api.ImageStatus{}, map[string]api.ImageStatus{}
	for _, answer := range answers {
		switch s := *answer.Value; {
		case !s.Answers(asked):
		case s.State == api.ImagePresent:
			present[s.Node] = s
		case best.State == "":
			best = s
		}
	}
	if len(present) > 0 {
		return present[placement.Answer(asked.Owner.String(), slices.Collect(maps.Keys(present)))]
	}
	return best
}

// ImageProgress says what an owner waits for while it has no image yet. name is the image that it asks for; empty means
// that its source was never sent.
func ImageProgress(image api.ImageStatus, name string, nodes []records.Read[api.NodeStatus]) string {
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
	return "waiting for a node to look for image " + name
}
