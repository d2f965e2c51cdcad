package local

import (
	"context"
	"encoding/json"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/env"
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
	read := snap.Release(task.Owner(), task.Release)
	if !read.Exists() {
		return node.Release{}, fmt.Errorf("release %s of %s: %w", task.Release, task.Owner(), node.ErrNoRelease)
	}
	stored := read.Value
	release := node.Release{
		ID: stored.ID, Fingerprint: stored.Fingerprint(), Image: stored.Image, ImageID: stored.ImageID, ImageDigest: stored.ImageDigest,
		Built: stored.Build != nil, AssetDigests: stored.AssetDigests,
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
	plain, err := c.Keys.Decrypt(stored.Env)
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

// addIdentity adds the object's data that a release doesn't hold.
func (c *Control) addIdentity(owner api.Ref, release *node.Release) {
	object := c.snapshot().Object(owner)
	if !object.Exists() {
		return
	}
	release.Dotted = object.Value.Metadata.Labels[api.LabelDotted]
	if c.CallbackPath != nil {
		release.CallbackPath = c.CallbackPath(*object.Value)
	}
}
