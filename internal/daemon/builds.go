package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/agent/builder"
	"tend.dev/tend/internal/asset"
	"tend.dev/tend/internal/build/journal"
	"tend.dev/tend/internal/runtime"
)

// BuildOptions are how images are built from source on this machine. The zero value is usable.
type BuildOptions struct {
	// Base is put before the names of base images in Dockerfiles that are written, such as "mirror.local:5000/".
	Base string
	// Timeout is how long a build may take; default an hour. MaxBytes bounds its source; default 500 MiB.
	Timeout  time.Duration
	MaxBytes int64
	// AtOnce is how many are built at a time; default 2.
	AtOnce int
}

// maxTar returns how large the tar of a source may be: its headers take room too.
func (o BuildOptions) maxTar() int64 { return max(api.MaxAssetBytes, o.MaxBytes+o.MaxBytes/32) }

// DefaultBuildTimeout is how long a build may take.
const DefaultBuildTimeout = builder.DefaultTimeout

// builds is what makes images, and what it printed.
type builds struct {
	builder *builder.Builder
	journal *journal.Journal
}

func (d *daemon) openBuilds() error {
	root, err := filepath.Abs(filepath.Join(d.Root, "builds"))
	if err != nil {
		return fmt.Errorf("open the builds: %w", err)
	}
	if d.builds.journal, err = journal.Open(filepath.Join(root, "logs")); err != nil {
		return err
	}
	d.builds.builder, err = builder.New(builder.Options{
		Runtime: d.runtime, Trees: d.openTree, Folder: root, Journal: d.builds.journal,
		Images: d.ledger("images"), Logs: d.ledger("build-logs"), Registry: d.Build.Base, Timeout: d.Build.Timeout,
		MaxBytes: d.Build.MaxBytes, Registerer: d.registry, Logger: d.Logger,
	})
	return err
}

// openTree opens the source of a build.
func (d *daemon) openTree(ctx context.Context, digest string) (io.ReadCloser, error) {
	tree, err := d.control.Blob(ctx, digest)
	if errors.Is(err, node.ErrNoBlob) {
		return nil, fmt.Errorf("%w: %s", builder.ErrNoTree, digest)
	}
	return tree, err
}

// collectEvery is the interval between two collections of built images that nothing refers to.
const collectEvery = 10 * time.Minute

// collectBuilds removes images that were built and that nothing refers to any more, with their logs.
func (d *daemon) collectBuilds(ctx context.Context) error {
	select {
	case <-d.view.Synced():
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		// What is built is listed first: what is asked for meanwhile isn't in the list.
		err := d.builds.builder.Collect(ctx, func() map[string]bool { return asset.Images(d.snapshot()) })
		if err != nil && ctx.Err() == nil && !errors.Is(err, runtime.ErrUnavailable) {
			d.Logger.WarnContext(ctx, "built images nothing refers to could not be removed", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
