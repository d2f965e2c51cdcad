package local

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// Release implements nodeapi.Control.
func (c *Control) Release(_ context.Context, task api.Task) (node.Release, error) {
	snap := c.snapshot()
	known := snap.Task(task.ID)
	switch {
	case !known.Exists():
		return node.Release{}, fmt.Errorf("task %s: %w", task.ID, node.ErrNoRelease)
	case known.Value.Node != c.node:
		return node.Release{}, fmt.Errorf("release %s of %s: %w", task.Release, task.Owner(), node.ErrForbidden)
	}
	task = *known.Value
	read := snap.ReleaseOf(task)
	if !read.Exists() {
		return node.Release{}, fmt.Errorf("release %s of %s: %w", task.Release, task.Owner(), node.ErrNoRelease)
	}
	stored := read.Value
	release := node.Release{
		ID: stored.ID, Fingerprint: stored.Fingerprint(), Image: stored.Image, ImageID: stored.ImageID,
		ImageDigest: stored.ImageDigest,
		Built:       stored.Build != nil, Confined: stored.Confined, AssetDigests: stored.AssetDigests,
	}
	spec, err := api.DecodeWorkload(task.Kind, stored.Spec)
	if err != nil {
		return node.Release{}, fmt.Errorf("release %s of %s: %w", task.Release, task.Owner(), err)
	}
	release.Spec, release.Claims = spec.DeploymentSpec, spec.Claims
	if len(stored.Env) == 0 {
		c.addIdentity(task.Owner(), &release)
		return release, nil
	}
	key := records.ReleaseKey(task.Owner(), task.Release)
	plain, err := c.environments.of(key, read, c.Keys)
	if !c.snapshot().ReleaseOf(task).Exists() {
		c.environments.forget(key) // it was deleted meanwhile, and that was noticed before it was kept
	}
	if err != nil {
		return node.Release{}, fmt.Errorf("release %s of %s: env: %w", task.Release, task.Owner(), err)
	}
	var merged map[string]string
	if err := json.Unmarshal(plain, &merged); err != nil {
		return node.Release{}, fmt.Errorf("release %s of %s: env is not a map of strings", task.Release, task.Owner())
	}
	release.Env, release.SecretFiles = env.Split(merged)
	c.addIdentity(task.Owner(), &release)
	return release, nil
}

// environments keeps the decrypted environments of releases: every node that runs a release asks for it, most of them
// in the same moment. The zero value is ready to use.
type environments struct {
	mu    sync.Mutex
	known map[string]environment // by the release's key
}

type environment struct {
	created int64 // the revision that created the release
	plain   []byte
}

// maxEnvironments bounds how many are kept.
const maxEnvironments = 64

// of returns the decrypted environment of a release. It is shared: it must not be modified.
func (e *environments) of(key string, release records.Read[api.Release], keys Decrypter) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.known[key]; ok && known.created == release.Created {
		return known.plain, nil
	}
	plain, err := keys.Decrypt(release.Value.Env)
	if err != nil {
		return nil, err
	}
	if e.known == nil || len(e.known) >= maxEnvironments {
		e.known = map[string]environment{}
	}
	e.known[key] = environment{release.Created, plain}
	return plain, nil
}

// forget drops the environment of a release that was deleted.
func (e *environments) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, key)
}

// addIdentity adds the object's data that a release doesn't hold.
func (c *Control) addIdentity(owner api.Ref, release *node.Release) {
	object := c.snapshot().Object(owner)
	if !object.Exists() {
		return
	}
	release.Dotted = object.Value.Dotted()
	if c.CallbackPath != nil {
		release.CallbackPath = c.CallbackPath(*object.Value)
	}
}
