package control

import (
	"fmt"

	"tend.dev/tend/api"
)

// ReasonBuilding: the image is being made from its source tree.
const ReasonBuilding = "Building"

// NoTree says what an object waits for whose source never came.
const NoTree = "its source was never sent: apply the manifest with tend apply from where the source is"

// Building says how far a node is with a build.
func Building(image api.ImageStatus) string {
	if image.Step == "" {
		return fmt.Sprintf("building %s on node %s", image.Image, image.Node)
	}
	return fmt.Sprintf("building %s on node %s: %s", image.Image, image.Node, image.Step)
}

// ImageReason is why something waits for its image: that it is built, or what it is otherwise.
func ImageReason(image api.ImageStatus, otherwise string) string {
	if image.State == api.ImageBuilding {
		return ReasonBuilding
	}
	return otherwise
}
