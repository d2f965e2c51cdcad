package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/input/asset"
	"tend.dev/tend/internal/platform/retention"
	"tend.dev/tend/internal/store/blob"
)

// files gives access to the bytes of assets on this machine.
type files struct {
	blobs   *blob.Store
	library *asset.Library
}

// openFiles opens the stores of asset files.
func (d *daemon) openFiles(context.Context) error {
	root, err := filepath.Abs(d.Root) // engines mount only absolute paths
	if err != nil {
		return fmt.Errorf("open the assets: %w", err)
	}
	d.files.blobs, err = blob.Open(blob.Options{Root: root, MinFree: d.MinFree, Ledger: d.ledger("blobs")})
	if err != nil {
		return err
	}
	d.files.library = asset.NewLibrary(asset.Options{Blobs: d.files.blobs, Ledger: d.ledger("blobs"),
		Cache: filepath.Join(root, "cache"), Now: d.Now, Logger: d.Logger})
	return nil
}

// ledger returns the ledger of one kind of file in the root.
func (d *daemon) ledger(sort string) *retention.Ledger {
	return retention.Open(d.Root, sort, d.cluster.UID)
}

// collect removes files that nothing refers to.
func (d *daemon) collect(ctx context.Context) error {
	return d.files.library.Run(ctx, d.view.Synced(),
		func(context.Context, []string) (map[string]bool, error) { return d.snapshot().ReferredFiles(), nil })
}

// Path implements agent.Assets: the server's own node has the blobs on its own disk.
func (f files) Path(_ context.Context, digest, key string) (string, error) {
	path, err := f.blobs.Link(digest, key)
	if errors.Is(err, blob.ErrNotFound) {
		return "", fmt.Errorf("%w: %s", node.ErrNoBlob, digest)
	}
	return path, err
}

// open opens the bytes of a digest.
func (f files) open(digest string) (io.ReadCloser, error) {
	file, err := f.blobs.Open(digest)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w: %s", node.ErrNoBlob, digest)
	}
	return file, err
}

// image reads an image of a node.
func (d *daemon) image(ctx context.Context, id, image string, has node.Part) (io.ReadCloser, error) {
	n, err := d.fleet.Node(id)
	if err != nil {
		return nil, err
	}
	return n.SaveImage(ctx, image, has)
}

// findOn asks a node for an image.
func (d *daemon) findOn(ctx context.Context, id, scope, image string) (node.FoundImage, error) {
	n, err := d.fleet.Node(id)
	if err != nil {
		return node.FoundImage{}, err
	}
	return n.FindImage(ctx, scope, image)
}
