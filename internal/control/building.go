package control

import (
	"fmt"

	"tend.dev/tend/api"
)

// NoTree is the message of an object whose source tree was never sent.
const NoTree = "its source was never sent: apply the manifest with tend apply from where the source is"

// Building describes how far a node's build of the image is.
func Building(image api.ImageStatus) string {
	if image.Step == "" {
		return fmt.Sprintf("building %s on node %s", image.Image, image.Node)
	}
	return fmt.Sprintf("building %s on node %s: %s", image.Image, image.Node, image.Step)
}

// ImageReason returns why something waits for its image: api.ReasonBuilding while it is being built, else otherwise.
func ImageReason(image api.ImageStatus, otherwise string) string {
	if image.State == api.ImageBuilding {
		return api.ReasonBuilding
	}
	return otherwise
}
