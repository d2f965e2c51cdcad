package local

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/store/imageask"
)

// FindImage asks the node to which a request for an image would go whether it has the image: its answer, apart from the
// request, and the revision of the record of its machine. Unless again, nothing is asked for an object that has asked
// for that image already, and no node whose runtime has no containers: there it copies a folder to find an image. The
// answer is taken by the rules of a report.
func (s *Service) FindImage(
	ctx context.Context, request api.ImageRequest, again bool,
) (answer api.ImageStatus, member int64, ok bool) {
	snap := s.snapshot()
	before, object := snap.ImageRequest(request.Owner), snap.Object(request.Owner)
	if s.FindOn == nil || !again && before.Exists() && object.Exists() && before.Value.Image == request.Image {
		return answer, 0, false
	}
	asked, present := imageask.Nodes(snap, request, "")
	if present || len(asked) != 1 {
		return answer, 0, false
	}
	id := asked[0]
	if facts := snap.Node(id); !facts.Exists() || !facts.Value.Ready || fit.KindOf(facts.Value.Runtime) != fit.Containers {
		return answer, 0, false
	}
	found, err := s.FindOn(ctx, id, request.Owner.Scope, request.Image)
	if err != nil {
		return answer, 0, false
	}
	answer = api.ImageStatus{
		Node: id, Image: request.Image, State: api.ImagePresent,
		ImageID: found.ID, Digest: found.Digest, Arch: found.Arch, Runtime: found.Runtime,
	}
	lies := id != s.Own && mispinned(answer.Digest, request.Image) || (&writer{}).tooLarge("the answer", answer)
	return answer, snap.Member(id).Modified, !lies
}
