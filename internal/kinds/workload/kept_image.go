package workload

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
)

// A tag can vanish from a node while the image behind it stays: a person removes it, or a cleanup does. The release in
// force runs on, and a change of the object besides its image goes on with that release's image. A tag that moves is
// another image, and rolls out.

// pulled reports whether a node had the image since a person last asked for another pull of it.
func (o observed) pulled() bool {
	asked := o.stamp(api.StampPull)
	return asked == "" || o.status.Value != nil && o.status.Value.Pulled == asked
}

// withKeptImage returns the identity with the image of the release in force, if the spec asks for the same image by
// name, every node that was asked has failed to get it, and no other pull was asked for since.
func (o observed) withKeptImage(id identity) identity {
	image, build := o.wanted()
	kept := o.release(o.rollout().TargetRelease)
	if id.imageID != "" || build != nil || kept == nil || kept.Build != nil || kept.Image != image || !o.pulled() ||
		o.image().State != api.ImageFailed || !fit.Kind(o.asks().Runtime).Takes(kept.ImageRuntime) {
		return id
	}
	id.imageID, id.digest, id.arch, id.runtime = kept.ImageID, kept.ImageDigest, kept.ImageArch, kept.ImageRuntime
	return id
}
