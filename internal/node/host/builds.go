package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/agent/builder"
	"tend.dev/tend/internal/node/agent/pulled"
	"tend.dev/tend/internal/node/runtime"
)

// BuildOptions configures builds from source on this machine. The zero value is usable.
type BuildOptions struct {
	// Base is the registry that generated Dockerfiles put before the names of base images, such as "mirror.local:5000/".
	Base string
	// Timeout limits a build; default an hour. MaxBytes bounds its source; default 500 MiB.
	Timeout  time.Duration
	MaxBytes int64
	// AtOnce is the number of builds at a time; default 2.
	AtOnce int
}

// MaxTar returns the maximal size of a source's tar, whose headers need space too.
func (o BuildOptions) MaxTar() int64 { return max(api.MaxAssetBytes, o.MaxBytes+o.MaxBytes/32) }

// DefaultBuildTimeout limits a build.
const DefaultBuildTimeout = builder.DefaultTimeout

// openBuilds opens the builder and the logs of builds.
func (h *Host) openBuilds() error {
	root, err := filepath.Abs(filepath.Join(h.Root, "builds"))
	if err != nil {
		return fmt.Errorf("open the builds: %w", err)
	}
	if h.buildLogs, err = buildlog.Open(filepath.Join(root, "logs")); err != nil {
		return err
	}
	h.pulled = pulled.New(pulled.Options{Runtime: h.runtime, Ledger: h.ledger("pulled"), Now: h.Now, Logger: h.Logger})
	h.builder, err = builder.New(builder.Options{
		Runtime: h.runtime, Trees: h.openTree, Secrets: h.Control.BuildSecrets, Folder: root, BuildLogs: h.buildLogs,
		Images: h.ledger("images"), Logs: h.ledger("build-logs"), Registry: h.Build.Base, Timeout: h.Build.Timeout,
		MaxBytes: h.Build.MaxBytes, Registerer: h.Registry, Logger: h.Logger,
	})
	return err
}

// openTree opens the source of a build.
func (h *Host) openTree(ctx context.Context, digest string) (io.ReadCloser, error) {
	tree, err := h.Control.Blob(ctx, digest)
	if errors.Is(err, node.ErrNoBlob) {
		return nil, fmt.Errorf("%w: %s", builder.ErrNoTree, digest)
	}
	return tree, err
}

// collectEvery is the interval at which unused images are collected.
const collectEvery = 10 * time.Minute

// collectImages removes built and pulled images that nothing refers to any more, and the logs of builds.
func (h *Host) collectImages(ctx context.Context) error {
	select {
	case <-h.Control.Synced():
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		err := errors.Join(h.builder.Collect(ctx, h.Control.Referred), h.pulled.Collect(ctx, h.Control.Referred))
		if err != nil && ctx.Err() == nil && !errors.Is(err, runtime.ErrUnavailable) {
			h.Logger.WarnContext(ctx, "images nothing refers to could not be removed", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
