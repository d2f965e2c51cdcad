package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// In worlds with a liar people pin some images by their digest, and the liar answers as a node that has them: the
// server asks it at times, since it sends heartbeats. A false answer about a pinned image must not be stored, and only
// the pinned image may run. The liar doesn't answer for tags: a node that is asked for a tag is trusted.

// lieOfImage is the id that the liar gives every image.
const lieOfImage = "sha256:" + "e711e711e711e711e711e711e711e711e711e711e711e711e711e711e711e711"

// pinnedImage returns an image of a served workload by its digest.
func pinnedImage(name, version string) string {
	sum := sha256.Sum256([]byte(name + version))
	return name + ":" + version + "@sha256:" + hex.EncodeToString(sum[:])
}

// stockPinned puts the pinned images on the machines of a world with a liar.
func (w *World) stockPinned() {
	if !w.lied() {
		return
	}
	for _, name := range served {
		for _, version := range versions {
			w.addImage(pinnedImage(name, version))
		}
	}
}

// pin lets a person pin the image of a workload, after some steps.
func (w *World) pin(random *rand.Rand) {
	name := anyOf(random, served)
	object := manifest(random, api.Ref{Kind: api.KindDeployment, Scope: scope, Name: name}, true)
	fields := map[string]any{}
	decode(object.Spec, &fields)
	fields["image"] = pinnedImage(name, anyOf(random, versions))
	w.apply(objectOf(object.Ref(), fields))
}

// answer makes the liar answer requests for images after some steps, once it is a node.
func (l *liar) answer(step int) {
	random := rand.New(rand.NewPCG(l.w.opts.Seed, 16<<32+uint64(step)))
	if chance(random, 6) {
		l.w.pin(random)
	}
	if l.client == nil || chance(random, 2) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lieTime)
	defer cancel()
	_ = l.client.Alive(ctx, 30*time.Second)
	page, err := l.w.store.List(ctx, records.ImagesPrefix, store.ListOptions{})
	if err != nil {
		return
	}
	for _, entry := range page.Entries {
		decoded, err := records.Decode(entry.Key, entry.Value)
		request, ok := decoded.(*api.ImageRequest)
		if !ok || err != nil || api.PinnedDigest(request.Image) == "" {
			continue
		}
		l.w.count.faults.Add(1)
		l.w.storyf("%s says that it has %s for %s", liarNode, request.Image, request.Owner)
		said := api.ImageStatus{Owner: request.Owner, OwnerUID: request.OwnerUID, Node: liarNode, Image: request.Image,
			Nonce: request.Nonce, State: api.ImagePresent, ImageID: lieOfImage, Runtime: "hollow",
			Digest: anyOf(random, []string{"", lieOfImage})}
		_ = l.client.Report(ctx, node.Report{Images: []api.ImageStatus{said}})
		stored, there := decodedAt[api.ImageStatus](ctx, l.w.store, records.ImageStatusKey(liarNode, request.Owner))
		if there && stored.ImageID == lieOfImage && stored.Image == request.Image {
			l.w.fail("a node that doesn't have %s is believed: %+v", request.Image, stored)
		}
	}
}

// samePinned: a container of a pinned image is created from that image.
func (o *watched) samePinned(container, image, made string) {
	if name := o.w.imageName(made); strings.Contains(image, "@") && name != image {
		o.w.fail("%s runs %s (%s), and its release pins %s", container, name, made, image)
	}
}
