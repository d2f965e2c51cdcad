package local

import (
	"context"
	"fmt"
	"io"
	"iter"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// releases returns those of the node's tasks.
func (c *Control) releases(snap records.Snapshot) iter.Seq[*api.Release] {
	return func(yield func(*api.Release) bool) {
		for _, task := range snap.TasksOn(c.node) {
			if release := snap.ReleaseOf(*task.Value); release.Exists() && !yield(release.Value) {
				return
			}
		}
	}
}

// pullsFrom reports whether the node has an image of a registry to pull. A build may start from an image of any
// registry.
func (c *Control) pullsFrom(snap records.Snapshot, host string) bool {
	for _, request := range snap.ImageRequests() {
		if (request.Value.Build != nil || imageask.Registry(request.Value.Image) == host) &&
			c.resolves(snap, *request.Value) {
			return true
		}
	}
	for release := range c.releases(snap) {
		if imageask.Registry(release.Image) == host {
			return true
		}
	}
	return false
}

// Blob implements nodeapi.Control.
func (c *Control) Blob(_ context.Context, digest string) (io.ReadCloser, error) {
	if !c.reads(c.snapshot(), digest) {
		return nil, fmt.Errorf("%s: %w", digest, node.ErrForbidden)
	}
	if c.Blobs == nil {
		return nil, fmt.Errorf("%s: %w", digest, node.ErrNoBlob)
	}
	return c.Blobs(digest)
}

// reads reports whether a file is one that the node's tasks mount, or a source tree that it builds.
func (c *Control) reads(snap records.Snapshot, digest string) bool {
	for _, request := range snap.ImageRequests() {
		if request.Value.Build != nil && request.Value.Build.Tree == digest && c.resolves(snap, *request.Value) {
			return true
		}
	}
	for release := range c.releases(snap) {
		for _, known := range release.AssetDigests {
			if known == digest {
				return true
			}
		}
	}
	return false
}

// BuildSecrets implements nodeapi.Control. Its errors quote no value.
func (c *Control) BuildSecrets(_ context.Context, owner api.Ref) (map[string]string, error) {
	snap := c.snapshot()
	request := snap.ImageRequest(owner)
	if !request.Exists() || request.Value.Build == nil || !c.resolves(snap, *request.Value) {
		return nil, fmt.Errorf("secrets of the build of %s: %w", owner, node.ErrForbidden)
	}
	values := map[string]string{}
	for _, key := range request.Value.Build.Build.Secrets {
		value, err := c.configValue(snap, owner, key)
		if err != nil {
			return nil, fmt.Errorf("build.secrets: %w", err)
		}
		values[key] = string(value)
	}
	return values, nil
}

// Referred implements nodeapi.Control.
func (c *Control) Referred(_ context.Context, names []string) (map[string]bool, error) {
	if len(names) > node.MaxReferred && c.node != c.Own {
		return nil, fmt.Errorf("%d names at once, more than %d: %w", len(names), node.MaxReferred, node.ErrForbidden)
	}
	snap, used := c.snapshot(), map[string]bool{}
	concerns := c.concerned(snap)
	files, images, uids := snap.FilesUsedBy(concerns), snap.ImagesUsedBy(concerns), snap.ObjectUIDs()
	for _, name := range names {
		used[name] = files[name] || images[name] || uids[name]
	}
	return used, nil
}

// concerned returns a function that reports whether an object concerns the node: it has a task of it, is asked for its
// image, or has answered. A digest gives no right to learn of others. All objects concern the node of this server,
// whose answers are the server's own. What is left of a deleted object doesn't make another one of its name concern it.
func (c *Control) concerned(snap records.Snapshot) func(api.Ref) bool {
	owners := map[api.Ref]bool{}
	add := func(owner api.Ref, uid string) {
		if object := snap.Object(owner); !object.Exists() || object.Value.Metadata.UID == uid {
			owners[owner] = true
		}
	}
	for _, task := range snap.TasksOn(c.node) {
		add(task.Value.Owner(), task.Value.OwnerUID)
	}
	for _, request := range snap.ImageRequests() {
		if c.resolves(snap, *request.Value) {
			add(request.Value.Owner, request.Value.OwnerUID)
		}
	}
	for record := range snap.Prefix(records.ActualImagesPrefix + c.node + "/") {
		if answer, ok := record.Value.(*api.ImageStatus); ok {
			add(answer.Owner, answer.OwnerUID)
		}
	}
	return func(owner api.Ref) bool { return c.node == c.Own || owners[owner] }
}
