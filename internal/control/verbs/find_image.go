package verbs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// foundImage is an image that a node has: see Options.FindImage.
type foundImage struct {
	answer api.ImageStatus
	member int64
}

// The bounds of what an apply asks nodes for. The controllers ask for the rest.
const (
	findTime    = time.Second
	findsAtOnce = 8
	maxFinds    = 200
)

// findImages asks nodes, before the verb has its turn, for the images that the objects name. The answer is stored with
// the object, so the object's first step need not wait for the node.
func (s *Service) findImages(ctx context.Context, objects []api.Object, opts ApplyOptions) map[api.Ref]foundImage {
	if s.opts.FindImage == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	requests := requestsOf(objects)
	images, turns := map[api.Ref]foundImage{}, make(chan struct{}, findsAtOnce)
	var mu sync.Mutex
	var wait recovery.Group
	for _, request := range requests[:min(maxFinds, len(requests))] {
		select { // in the order of the objects
		case turns <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-turns }()
			if answer, member, ok := s.opts.FindImage(ctx, request, opts.Force); ok {
				mu.Lock()
				defer mu.Unlock()
				images[request.Owner] = foundImage{answer, member}
			}
		})
	}
	all := make(chan struct{})
	recovery.Go(func() { wait.Wait(); close(all) })
	select {
	case <-all:
	case <-ctx.Done(): // a call may go on, and its answer is dropped
	}
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(images)
}

// requestsOf returns the requests for images that objects name as they are: built ones, and names that refer to other
// objects, are left out.
func requestsOf(objects []api.Object) (out []api.ImageRequest) {
	for _, object := range objects {
		if request, ok := requestOf(object); ok && !strings.Contains(request.Image, "${") {
			out = append(out, request)
		}
	}
	return out
}

func requestOf(object api.Object) (request api.ImageRequest, ok bool) {
	if !object.Kind.HasContainers() {
		return request, false
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return request, false // validation reports it
	}
	request = imageask.Request(object, spec)
	return request, request.Build == nil && request.Image != ""
}

// answer adds to each written object what the node said of its image that is asked for it now, where the object
// asks for another one than before.
func (d *applyDecision) answer(snap records.Snapshot, images map[api.Ref]foundImage, now time.Time) {
	for _, object := range d.next {
		image, said := images[object.Ref()]
		request, named := requestOf(object)
		if !said || !named || image.answer.Image != request.Image {
			continue
		}
		if before := snap.ImageRequest(request.Owner); before.Exists() && before.Value.Equal(request) {
			continue
		}
		if snap.Member(image.answer.Node).Modified != image.member {
			continue // its name may be another machine's since
		}
		asked, present := imageask.Nodes(snap, request, "")
		if present || !slices.Equal(asked, []string{image.answer.Node}) {
			continue
		}
		answer := image.answer
		answer.Owner, answer.OwnerUID, answer.Nonce, answer.UpdatedAt = request.Owner, request.OwnerUID, request.Nonce,
			now
		early := records.Found{Answer: answer}
		d.answers = append(d.answers, early)
		d.txn.If(records.MemberKey(answer.Node), image.member).Put(records.FoundKey(request.Owner), early)
	}
}
