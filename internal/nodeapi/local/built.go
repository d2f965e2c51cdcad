package local

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/records"
)

// Built implements nodeapi.Control: the image of a task's release, from a node that has it. The nodes that run the
// release or have built its image are asked in turn. If one of them is away, it isn't known that the image is gone.
func (c *Control) Built(ctx context.Context, task api.Task) (io.ReadCloser, error) {
	snap := c.snapshot()
	known := snap.Task(task.ID)
	if !known.Exists() || known.Value.Node != c.node {
		return nil, fmt.Errorf("the image of task %s: %w", task.ID, node.ErrForbidden)
	}
	release := snap.Release(known.Value.Owner(), known.Value.Release)
	if !release.Exists() || release.Value.Build == nil || release.Value.ImageID == "" {
		return nil, fmt.Errorf("release %s of %s: %w", known.Value.Release, known.Value.Owner(), node.ErrNoImage)
	}
	var away error
	missing := fmt.Errorf("image %s of release %s: %w", release.Value.ImageID, release.Value.ID, node.ErrNoImage)
	for _, id := range c.holders(snap, *release.Value) {
		if c.ImageOf == nil {
			break
		}
		content, err := c.ImageOf(ctx, id, release.Value.ImageID)
		if err == nil {
			return content, nil
		}
		if errors.Is(err, node.ErrNotConnected) {
			away = err
		}
		missing = errors.Join(missing, err)
	}
	if away != nil {
		return nil, fmt.Errorf("the image %s of release %s can't be fetched: %w", release.Value.Image, release.Value.ID, away)
	}
	return nil, missing
}

// holders returns the other nodes that may have a release's image.
func (c *Control) holders(snap records.Snapshot, release api.Release) (nodes []string) {
	seen := map[string]bool{"": true, c.node: true}
	add := func(node string) {
		if !seen[node] {
			seen[node] = true
			nodes = append(nodes, node)
		}
	}
	for _, status := range snap.ImageStatuses(release.Owner()) {
		if status.Value.ImageID == release.ImageID {
			add(status.Value.Node)
		}
	}
	for _, task := range snap.TasksOf(release.Owner()) {
		if other := snap.Release(release.Owner(), task.Value.Release); other.Exists() && other.Value.ImageID == release.ImageID {
			add(task.Value.Node)
		}
	}
	return nodes
}
