package owner

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/records"
)

// Image returns the nodes' answer to a request for an image; one that has the image counts more than any other.
func Image(answers []records.Read[api.ImageStatus], asked api.ImageRequest) api.ImageStatus {
	best := api.ImageStatus{}
	for _, answer := range answers {
		s := *answer.Value
		if s.Answers(asked) && (best.State == "" || s.State == api.ImagePresent && best.State != api.ImagePresent) {
			best = s
		}
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
