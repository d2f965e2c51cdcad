package daemon

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/imageask"
	"tend.dev/tend/internal/verbs"
)

// findImage asks the node to which a request for an image would go whether it has the image, if it is connected to this
// server. Unless again, nothing is asked for an object that has asked for that image already.
func (d *daemon) findImage(ctx context.Context, request api.ImageRequest, again bool) (verbs.FoundImage, bool) {
	snap := d.snapshot()
	before, object := snap.ImageRequest(request.Owner), snap.Object(request.Owner)
	if !again && before.Exists() && object.Exists() && before.Value.Image == request.Image {
		return verbs.FoundImage{}, false
	}
	asked, present := imageask.Nodes(snap, request, "")
	if present || len(asked) != 1 {
		return verbs.FoundImage{}, false
	}
	id := asked[0]
	on, err := d.fleet.Node(id)
	if facts := snap.Node(id); err != nil || !facts.Exists() || !facts.Value.Ready {
		return verbs.FoundImage{}, false
	}
	member := snap.Member(id).Modified
	found, err := on.FindImage(ctx, request.Owner.Scope, request.Image)
	if err != nil {
		return verbs.FoundImage{}, false
	}
	answer, err := d.nodes.Found(id, request, found)
	if err != nil {
		d.Logger.WarnContext(ctx, "what a node says of an image doesn't count", "node", id, "error", err)
	}
	return verbs.FoundImage{Answer: answer, Member: member}, err == nil
}
