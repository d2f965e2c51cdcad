package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/spechash"
)

// identity holds what distinguishes one release from another.
type identity struct {
	hash    string
	version int
	envHash string
	imageID string // empty while nothing is known of the image
	digest  string
	arch    string
	runtime string
	build   *api.ImageBuild
	pinned  *api.Release // the release a rollback repeats
	// assets are the digests of the files that the spec uses.
	assets map[string]string
	// over is the hash of the environment from the buckets and the spec, under a rollback, which may run with another
	// one.
	over string
	// quiet is set if the buckets came to this environment by changes that don't replace running pods.
	quiet bool
	// renews is set with quiet while an ordinal is to be recreated: its next task takes the buckets as they are.
	renews bool
}

// ownEnv reports whether the environment is that of the buckets and the spec, not a pinned one.
func (id identity) ownEnv() bool {
	return id.pinned == nil || id.envHash == id.over
}

// target is the release a deployment should run.
type target struct {
	release *api.Release // nil while it is unknown, because the image is
	mint    bool         // release is new and must be written
	// awaits is set while no node has answered for the image, so what the spec asks for isn't fully known. release is
	// the one in force until then.
	awaits bool
	// superseded is set if release is not what the spec asks for, though it is in force until that is known.
	superseded bool
	// pending says what the spec asks for and may not touch a slot yet. Until then release is the one in force, or nil
	// the first time. With mint it is pending's release that is new.
	pending *pending
	// turned is set if an automatic rollback turned away from what the spec asks for.
	turned *api.FailedRollout
}

// isOfSpec reports whether the release in force fits what the spec asks for.
func (t target) isOfSpec() bool {
	return t.turned == nil && !t.awaits && !t.superseded && t.pending == nil
}

// identify computes the identity of what the spec asks for now.
func (c *workloads) identify(o observed) (identity, error) {
	envHash, err := c.env.Hash(o.env)
	if err != nil {
		return identity{}, fmt.Errorf("hash the environment: %w", err)
	}
	quiet := o.stamp(api.StampQuietEnv) == envHash
	renews := quiet && o.renewsOrdinal()
	if pinned := o.release(o.stamp(api.StampRollback)); pinned != nil {
		id := identity{
			quiet: quiet, renews: renews,
			hash: pinned.SpecHash, version: pinned.HashVersion, envHash: o.pinnedEnv(pinned, envHash), over: envHash,
			imageID: pinned.ImageID, digest: pinned.ImageDigest, arch: pinned.ImageArch, runtime: pinned.ImageRuntime,
			pinned: pinned, assets: pinned.AssetDigests,
			build: pinned.Build,
		}
		if image := o.image(); pinned.Build != nil && image.Image == pinned.Image && image.State == api.ImagePresent {
			id.imageID, id.arch, id.runtime = image.ImageID, image.Arch,
				image.Runtime // it was removed from the node, and the same tree was built again
		}
		return id, nil
	}
	assets := o.object.Value.AssetDigests()
	id := identity{hash: spechash.Workload(o.spec, assets), version: spechash.Version, envHash: envHash, quiet: quiet,
		renews: renews, assets: assets}
	_, id.build = o.wanted()
	if image := o.image(); image.State == api.ImagePresent {
		id.imageID, id.digest, id.arch, id.runtime = image.ImageID, image.Digest, image.Arch, image.Runtime
	}
	return id, nil
}

// pinnedEnv returns the environment under a rollback: that of now, or if the release's was to come back too, that one
// until a bucket changes.
func (o observed) pinnedEnv(pinned *api.Release, now string) string {
	made, quiet := o.release(o.rollout().TargetRelease), o.stamp(api.StampQuietEnv) == now
	follows := made != nil && made.RolledBackFrom == pinned.ID
	over := o.stamp(api.StampRollbackConfig)
	switch {
	case over == api.RollbackKeepsConfig:
		return now
	case over == "" && !follows:
		return pinned.EnvHash
	case over == "" && (made.EnvOver == "" || made.EnvOver == now), quiet && follows:
		return made.EnvHash
	case over == now, quiet:
		return pinned.EnvHash
	}
	return now
}

// same reports whether a release fits what the identity asks for. An image that isn't known can't differ. A release
// hashed by an older version of Tend is compared by that version's hash, so that an upgrade rolls nothing.
func (o observed) same(r *api.Release, id identity) bool {
	if r == nil || r.Build.Name() != id.build.Name() || r.EnvHash != id.envHash && !id.quiet ||
		id.imageID != "" && r.ImageID != id.imageID {
		return false
	}
	if id.pinned == nil && probesOff(r.Spec) != o.spec.Probes.None() {
		return false // the hash takes an empty block for none, and it switches the image's check off
	}
	if r.HashVersion != id.version {
		older, err := spechash.WorkloadVersion(r.HashVersion, o.spec, id.assets)
		return err == nil && id.pinned == nil && r.SpecHash == older
	}
	return r.SpecHash == id.hash
}

// probesOff reports whether the spec of a release has an empty block of probes.
func probesOff(spec json.RawMessage) bool {
	if !bytes.Contains(spec, []byte(`"probes"`)) {
		return false
	}
	var declared struct {
		Probes *api.Probes `json:"probes"`
	}
	return json.Unmarshal(spec, &declared) == nil && declared.Probes.None()
}

// choose decides which release is wanted: the one in force or the newest if it is the same, else a new one. While the
// image of a new one isn't known, the release in force stays.
func (c *workloads) choose(o observed, id identity) (target, error) {
	rollout := o.rollout()
	active := o.release(rollout.TargetRelease)
	if failed := rollout.Failed; failed != nil && o.turnedAway(failed, id) {
		if good := o.release(rollout.LastGoodRelease); good != nil {
			return target{release: good, turned: o.withLateLog(failed)}, nil
		}
	}
	for _, candidate := range []*api.Release{active, o.newestRelease()} {
		if !o.same(candidate, id) {
			continue
		}
		if fresh, err := c.renewed(o, id, candidate); fresh != nil || err != nil {
			return target{release: fresh, mint: true}, err
		}
		awaits := id.imageID == "" && !o.pulled()
		switch inForce := candidate.ID == rollout.TargetRelease; {
		case inForce || awaits && candidate.Steps == nil:
			return target{release: candidate, awaits: awaits}, nil
		case awaits:
			return o.unknown(), nil
		}
		return c.admit(o, id, candidate, false)
	}
	if id = o.withKeptImage(id); id.imageID == "" {
		return o.unknown(), nil
	}
	release, err := c.mint(o, id)
	if err != nil {
		return target{}, err
	}
	return c.admit(o, id, release, true)
}

// unknown returns what is wanted while the image of a new release isn't known: the release in force.
func (o observed) unknown() target {
	return target{release: o.release(o.rollout().TargetRelease), awaits: true, superseded: true}
}

// turnedAway reports whether an automatic rollback gave up on what is asked for.
func (o observed) turnedAway(failed *api.FailedRollout, id identity) bool {
	meta := o.object.Value.Metadata
	if r := o.release(failed.Release); r != nil && (!maps.Equal(r.AssetDigests, id.assets) ||
		r.Build.Name() != id.build.Name()) {
		return false // a file or the source changed, though the spec did not
	}
	return failed.Generation == meta.Generation && failed.Restart == o.stamp(api.StampRestart) &&
		failed.Pull == o.stamp(api.StampPull) &&
		(failed.EnvHash == id.envHash || id.quiet) && (id.imageID == "" || failed.ImageID == id.imageID)
}

// nextNumber returns the number of the next release.
func (o observed) nextNumber() int {
	number := 1
	if newest := o.newestRelease(); newest != nil {
		number = newest.Number + 1
	}
	if o.status.Value != nil {
		number = max(number, o.status.Value.LastReleaseNumber+1)
	}
	return number
}

// mint returns the next release.
func (c *workloads) mint(o observed, id identity) (*api.Release, error) {
	number := o.nextNumber()
	release := &api.Release{
		ID: fmt.Sprintf("v%d", number), Number: number, Kind: o.ref.Kind, Scope: o.ref.Scope, Name: o.ref.Name,
		SpecHash: id.hash, HashVersion: id.version, EnvHash: id.envHash,
		ImageID: id.imageID, ImageDigest: id.digest, ImageArch: id.arch, ImageRuntime: id.runtime,
		AssetDigests: id.assets,
		Generation:   o.object.Value.Metadata.Generation, Reason: o.reasonForRelease(id), CreatedAt: o.now,
		Restart: o.asked(), Change: o.object.Value.Metadata.Change, Confined: o.object.Value.Confined(),
	}
	if release.Reason == o.tagMoved() {
		release.Change = nil // nobody asked for it
	}
	release.Image, release.Build = o.wanted()
	if id.pinned != nil {
		release.Build = id.pinned.Build
		release.RolledBackFrom, release.Image, release.EnvOver = id.pinned.ID, id.pinned.Image, id.over
	}
	if !o.returns(id) {
		release.Steps = o.spec.Steps()
	}
	var err error
	if release.Spec, err = snapshotSpec(o.spec); err != nil {
		return nil, err
	}
	if id.ownEnv() {
		release.Env, err = c.env.Seal(o.env)
	} else {
		release.Env = id.pinned.Env
	}
	if before := o.newestRelease(); before != nil && c.changes != nil && err == nil {
		release.Changed = c.changes(*before, *release)
	}
	return release, err
}

// snapshotSpec returns the spec as a release stores it: without replicas, so that a rollback never scales.
func snapshotSpec(spec api.WorkloadSpec) (json.RawMessage, error) {
	spec.Replicas = nil
	return json.Marshal(api.StatefulSetSpec{DeploymentSpec: spec.DeploymentSpec,
		VolumeClaims: spec.Claims}) // claims only if there are any
}

// returns reports whether a new release is the return to an earlier one, or to its environment. It then waits for
// nothing and runs no commands: they ran when the earlier release was first rolled out.
func (o observed) returns(id identity) bool {
	newest := o.newestRelease()
	if id.pinned == nil || newest == nil {
		return false
	}
	return newest.RolledBackFrom != id.pinned.ID || !id.ownEnv() && newest.EnvHash != id.envHash
}

// tagMoved returns the reason of a release that nobody asked for: the same name stands for another image now.
func (o observed) tagMoved() string { return path.Base(o.spec.Image) + " names another image now" }

func (o observed) reasonForRelease(id identity) string {
	newest := o.newestRelease()
	switch {
	case newest == nil:
		return "first release"
	case o.returns(id):
		return "rollback to " + id.pinned.ID
	case newest.Generation == o.object.Value.Metadata.Generation && !maps.Equal(newest.AssetDigests, id.assets):
		return "asset changed"
	case newest.SpecHash != id.hash, id.pinned == nil && probesOff(newest.Spec) != o.spec.Probes.None():
		return "spec changed"
	case newest.EnvHash != id.envHash:
		return "environment changed"
	}
	if newest.Build.Name() != id.build.Name() {
		return "source changed"
	}
	if id.build == nil && !o.object.Value.Metadata.UpdatedAt.After(newest.CreatedAt) {
		return o.tagMoved()
	}
	return "image changed"
}
