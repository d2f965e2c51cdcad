package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/singleflight"

	"tend.dev/tend/internal/input/asset"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime/docker"
	"tend.dev/tend/internal/store/blob"
)

// cache keeps the asset files that this node's containers mount. It fetches each once.
type cache struct {
	control nodeapi.Control
	blobs   *blob.Store
	library *asset.Library
	fetches singleflight.Group
}

var _ agent.Assets = (*cache)(nil)

// openFiles opens the node's cache of files, unless the link has them.
func (h *Host) openFiles() error {
	if h.Assets != nil {
		return nil
	}
	root, err := filepath.Abs(h.Root) // engines mount only absolute paths
	if err != nil {
		return fmt.Errorf("open the files: %w", err)
	}
	blobs, err := blob.Open(blob.Options{Root: root, MinFree: h.MinFree, Ledger: h.ledger("blobs")})
	if err != nil {
		return err
	}
	library := asset.NewLibrary(asset.Options{Blobs: blobs, Ledger: h.ledger("blobs"), Cache: filepath.Join(root, "cache"),
		Now: h.Now, Logger: h.Logger})
	h.cache = &cache{control: h.Control, blobs: blobs, library: library}
	h.Assets = h.cache
	return nil
}

// Path implements agent.Assets.
func (c *cache) Path(ctx context.Context, digest, key string) (string, error) {
	path, err := c.blobs.Link(digest, key)
	if !errors.Is(err, blob.ErrNotFound) {
		return path, err
	}
	if _, err, _ := c.fetches.Do(digest, func() (any, error) { return nil, c.fetch(ctx, digest) }); err != nil {
		return "", err
	}
	return c.blobs.Link(digest, key)
}

func (c *cache) fetch(ctx context.Context, digest string) error {
	if there, err := c.blobs.Has(digest); there || err != nil {
		return err
	}
	content, err := c.control.Blob(ctx, digest)
	if err != nil {
		return err
	}
	defer content.Close()
	return c.blobs.PutAs(digest, content, blob.MaxBytes)
}

// run removes files that nothing refers to.
func (c *cache) run(ctx context.Context) error {
	return c.library.Run(ctx, c.control.Synced(), c.control.Referred)
}

// registryFor returns the login to a registry, as declared in the store.
func (h *Host) registryFor(host string) (docker.Registry, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), registryTime)
	defer cancel()
	declared, found, err := h.Control.Registry(ctx, host)
	return docker.Registry(declared), found, err
}

// registryTime bounds the lookup of a login.
const registryTime = 10 * time.Second
