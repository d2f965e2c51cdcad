package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/records"
)

// ReleaseImage implements nodeapi.Control. The nodes that run the release or have reported its image are asked first,
// then all others: an image that was loaded stays on its node when its name moves on. Those that sent something
// already, which can't have been it, come last. If one of the first is away, it isn't known that the image is gone.
func (c *Control) ReleaseImage(ctx context.Context, task api.Task, has node.Part) (io.ReadCloser, error) {
	snap := c.snapshot()
	known := snap.Task(task.ID)
	if !known.Exists() || known.Value.Node != c.node {
		return nil, fmt.Errorf("the image of task %s: %w", task.ID, node.ErrForbidden)
	}
	release := snap.ReleaseOf(*known.Value)
	if !release.Exists() || release.Value.ImageID == "" || !c.suits(snap, *release.Value) {
		return nil, fmt.Errorf("release %s of %s: %w", known.Value.Release, known.Value.Owner(), node.ErrNoImage)
	}
	var away error
	missing := fmt.Errorf("image %s of release %s: %w", release.Value.ImageID, release.Value.ID, node.ErrNoImage)
	holders := c.holders(snap, *release.Value)
	for _, id := range c.tried.last(release.Value.ImageID, slices.Concat(holders, c.others(snap, holders))) {
		if c.ImageOf == nil {
			break
		}
		content, err := c.ImageOf(ctx, id, release.Value.ImageID, has)
		if err == nil {
			return &sent{ReadCloser: content, ctx: ctx, ended: func() { c.tried.add(release.Value.ImageID, id) }}, nil
		}
		if slices.Contains(holders, id) && errors.Is(err, node.ErrNotConnected) {
			away = err
		}
		missing = fmt.Errorf("%w; node %s: %s", missing, id, err.Error()) // that a node is away doesn't make the image so
	}
	if away != nil {
		return nil, fmt.Errorf("the image %s of release %s can't be fetched: %w", release.Value.Image, release.Value.ID, away)
	}
	return nil, missing
}

// maxTried bounds what is remembered of nodes that sent an image.
const maxTried = 1000

// tried are the nodes that sent an image, to its end or until they sent no more. The zero value is ready to use.
type tried struct {
	mu    sync.Mutex
	count int
	when  map[[2]string]int // by image and node
}

func (t *tried) add(image, node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.when == nil || len(t.when) >= maxTried {
		t.when = map[[2]string]int{}
	}
	t.count++
	t.when[[2]string{image, node}] = t.count
}

// last returns nodes with those that were tried for an image at the end, the first of them first.
func (t *tried) last(image string, nodes []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(nodes, func(a, b string) int {
		return cmp.Compare(t.when[[2]string{image, a}], t.when[[2]string{image, b}])
	})
	return nodes
}

// sent is an image that a node sends. ended is called when it sends no more, and not if nobody waits for it any longer.
type sent struct {
	io.ReadCloser
	ctx   context.Context
	ended func()
}

// Read implements io.Reader.
func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && s.ctx.Err() == nil {
		s.ended()
	}
	return n, err
}

// suits reports whether the image that the release was made with is the node's: what a registry has for several
// architectures is another image on each.
func (c *Control) suits(snap records.Snapshot, release api.Release) bool {
	here := snap.Node(c.node)
	return release.ImageDigest == "" || release.ImageArch == "" || !here.Exists() || here.Value.Arch == "" ||
		here.Value.Arch == release.ImageArch
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
		if other := snap.ReleaseOf(*task.Value); other.Exists() && other.Value.ImageID == release.ImageID {
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
