package deployment

import (
	"encoding/json"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/spechash"
)

// identity is what makes one release differ from another.
type identity struct {
	hash    string
	version int
	envHash string
	imageID string // empty while nothing is known of the image
	digest  string
	pinned  *api.Release // the release a rollback repeats
	// over is the hash of what the buckets and the spec give, where a rollback runs with another environment.
	over string
}

// ownEnv: the environment is what the buckets and the spec give, not a pinned one.
func (id identity) ownEnv() bool {
	return id.pinned == nil || id.envHash == id.over
}

// target is the release a deployment should run.
type target struct {
	release *api.Release // nil while none can be told: the image isn't known
	mint    bool         // release is new and must be written
	// awaits: what the spec asks for isn't fully known before a node answered for its image. release is what is in force
	// until then.
	awaits bool
	// superseded: release is not what the spec asks for, though it is in force until that is known.
	superseded bool
	// turned is set where an automatic rollback turned away from what the spec asks for.
	turned *api.FailedRollout
}

// identify computes what the spec amounts to now.
func (c *Controller) identify(o observed) (identity, error) {
	envHash, err := c.env.hash(o.env)
	if err != nil {
		return identity{}, fmt.Errorf("hash the environment: %w", err)
	}
	if pinned := o.release(o.stamp(api.StampRollback)); pinned != nil {
		return identity{
			hash: pinned.SpecHash, version: pinned.HashVersion, envHash: o.pinnedEnv(pinned, envHash), over: envHash,
			imageID: pinned.ImageID, digest: pinned.ImageDigest, pinned: pinned,
		}, nil
	}
	id := identity{hash: spechash.Deployment(o.spec, nil), version: spechash.Version, envHash: envHash}
	if image := o.image(); image.State == api.ImagePresent {
		id.imageID, id.digest = image.ImageID, image.Digest
	}
	return id, nil
}

// pinnedEnv is the environment under a rollback: that of the release it returned to, until a bucket changes.
func (o observed) pinnedEnv(pinned *api.Release, now string) string {
	made := o.release(o.rollout().TargetRelease)
	switch {
	case made == nil || made.RolledBackFrom != pinned.ID:
		return pinned.EnvHash
	case made.EnvOver == "" || made.EnvOver == now:
		return made.EnvHash
	}
	return now
}

// same says whether a release is what the identity asks for. An image that isn't known can't differ; a release hashed
// by an older version is compared by that version, so that an upgrade rolls nothing.
func (o observed) same(r *api.Release, id identity) bool {
	if r == nil || r.EnvHash != id.envHash || id.imageID != "" && r.ImageID != id.imageID {
		return false
	}
	if r.HashVersion != id.version {
		older, err := spechash.DeploymentVersion(r.HashVersion, o.spec, nil)
		return err == nil && id.pinned == nil && r.SpecHash == older
	}
	return r.SpecHash == id.hash
}

// choose decides which release is wanted: the one in force or the newest where it is the same, else a new one. While a
// new one's image isn't known, what is in force stays in force.
func (c *Controller) choose(o observed, id identity) (target, error) {
	rollout := o.rollout()
	active := o.release(rollout.TargetRelease)
	if failed := rollout.Failed; failed != nil && o.turnedAway(failed, id) {
		if good := o.release(rollout.LastGoodRelease); good != nil {
			return target{release: good, turned: failed}, nil
		}
	}
	for _, candidate := range []*api.Release{active, o.newestRelease()} {
		if o.same(candidate, id) {
			return target{release: candidate, awaits: id.imageID == "" && o.stamp(api.StampPull) != ""}, nil
		}
	}
	if id.imageID == "" {
		return target{release: active, awaits: true, superseded: true}, nil
	}
	release, err := c.mint(o, id)
	return target{release: release, mint: true}, err
}

// turnedAway says whether what is asked for is what an automatic rollback gave up on.
func (o observed) turnedAway(failed *api.FailedRollout, id identity) bool {
	meta := o.object.Value.Metadata
	return failed.Generation == meta.Generation && failed.Restart == o.stamp(api.StampRestart) &&
		failed.EnvHash == id.envHash && (id.imageID == "" || failed.ImageID == id.imageID)
}

// mint makes the next release.
func (c *Controller) mint(o observed, id identity) (*api.Release, error) {
	number := 1
	if newest := o.newestRelease(); newest != nil {
		number = newest.Number + 1
	}
	if o.status.Value != nil {
		number = max(number, o.status.Value.LastReleaseNumber+1)
	}
	release := &api.Release{
		ID: fmt.Sprintf("v%d", number), Number: number, Kind: o.ref.Kind, Scope: o.ref.Scope, Name: o.ref.Name,
		SpecHash: id.hash, HashVersion: id.version, EnvHash: id.envHash,
		Image: o.spec.Image, ImageID: id.imageID, ImageDigest: id.digest,
		Generation: o.object.Value.Metadata.Generation, Reason: o.reasonForRelease(id), CreatedAt: c.Now(),
	}
	if id.pinned != nil {
		release.RolledBackFrom, release.Image, release.EnvOver = id.pinned.ID, id.pinned.Image, id.over
	}
	var err error
	if release.Spec, err = snapshotSpec(o.spec); err != nil {
		return nil, err
	}
	if !id.ownEnv() {
		release.Env = id.pinned.Env
		return release, nil
	}
	release.Env, err = c.env.seal(o.env)
	return release, err
}

// snapshotSpec is the spec as a release keeps it: without replicas, so that a rollback never scales.
func snapshotSpec(spec api.DeploymentSpec) (json.RawMessage, error) {
	spec.Replicas = nil
	return json.Marshal(spec)
}

func (o observed) reasonForRelease(id identity) string {
	newest := o.newestRelease()
	switch {
	case newest == nil:
		return "first release"
	case id.pinned != nil && newest.RolledBackFrom != id.pinned.ID:
		return "rollback to " + id.pinned.ID
	case newest.SpecHash != id.hash:
		return "spec changed"
	case newest.EnvHash != id.envHash:
		return "environment changed"
	}
	return "image changed"
}
