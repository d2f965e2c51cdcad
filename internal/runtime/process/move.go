//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/process/rootfs"
)

// SaveImage implements runtime.Runtime.
func (r *Runtime) SaveImage(ctx context.Context, id string) (io.ReadCloser, error) {
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	content, err := r.images.Save(ctx, id)
	if errors.Is(err, rootfs.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", runtime.ErrNotFound, err)
	}
	return content, diskFull(err)
}

// LoadImage implements runtime.Runtime.
func (r *Runtime) LoadImage(ctx context.Context, id string, content io.Reader) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	image, err := r.claim(r.images.Load(ctx, id, content))
	if err == nil && image.ID != id {
		err = fmt.Errorf("%w: read %s, not %s", runtime.ErrOtherImage, image.ID, id)
	}
	return diskFull(err)
}
