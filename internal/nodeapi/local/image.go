package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/records"
)

// ReleaseImage implements nodeapi.Control. The nodes that run the release or have reported its image are asked first, then all
// others: an image that was loaded stays on its node when its name moves on. If one of the first is away, it isn't known that
// the image is gone.
func (c *Control) ReleaseImage(ctx context.Context, task api.Task, has node.Part) (io.ReadCloser, error) {
	snap := c.snapshot()
	known := snap.Task(task.ID)
	if !known.Exists() || known.Value.Node != c.node {
		return nil, fmt.Errorf("the image of task %s: %w", task.ID, node.ErrForbidden)
	}
	release := snap.Release(known.Value.Owner(), known.Value.Release)
	if !release.Exists() || release.Value.ImageID == "" || !c.suits(snap, *release.Value) {
		return nil, fmt.Errorf("release %s of %s: %w", known.Value.Release, known.Value.Owner(), node.ErrNoImage)
	}
	var away error
	missing := fmt.Errorf("image %s of release %s: %w", release.Value.ImageID, release.Value.ID, node.ErrNoImage)
	holders := c.holders(snap, *release.Value)
	for i, id := range append(holders, c.others(snap, holders)...) {
		if c.ImageOf == nil {
			break
		}
		content, err := c.ImageOf(ctx, id, release.Value.ImageID, has)
		if err == nil {
			return content, nil
		}
		if i < len(holders) && errors.Is(err, node.ErrNotConnected) {
			away = err
		}
		missing = fmt.Errorf("%w; node %s: %s", missing, id, err.Error()) // that a node is away doesn't make the image so
	}
	if away != nil {
		return nil, fmt.Errorf("the image %s of release %s can't be fetched: %w", release.Value.Image, release.Value.ID, away)
	}
	return nil, missing
}

// suits reports whether the image that the release was made with is the node's: what a registry has for several architectures is
// another image on each.
func (c *Control) suits(snap records.Snapshot, release api.Release) bool {
	here := snap.Node(c.node)
	return release.ImageDigest == "" || release.ImageArch == "" || !here.Exists() || here.Value.Arch == "" || here.Value.Arch == release.ImageArch
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

// others returns the nodes that answer, apart from this one and the holders.
func (c *Control) others(snap records.Snapshot, holders []string) (nodes []string) {
	for record := range snap.Prefix(records.AlivePrefix) {
		id := strings.TrimPrefix(record.Key, records.AlivePrefix)
		if id != c.node && !slices.Contains(holders, id) {
			nodes = append(nodes, id)
		}
	}
	return nodes
}
