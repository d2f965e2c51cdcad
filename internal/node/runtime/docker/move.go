package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

// SaveImage implements runtime.Runtime.
func (r *Runtime) SaveImage(ctx context.Context, id string) (io.ReadCloser, error) {
	if _, err := r.Resolve(ctx, id); err != nil {
		return nil, err // otherwise the engine would answer with an empty archive
	}
	content, err := r.client.ImageSave(ctx, []string{id})
	if cerrdefs.IsNotFound(err) {
		return nil, fmt.Errorf("image %s: %w", id, runtime.ErrNotFound)
	}
	if err != nil {
		return nil, r.fault("save image "+id, err)
	}
	return content, nil
}

// LoadImage implements runtime.Runtime.
func (r *Runtime) LoadImage(ctx context.Context, id string, content io.Reader) error {
	answer, err := r.client.ImageLoad(ctx, content, client.ImageLoadWithQuiet(true))
	if err != nil {
		return r.fault("load image "+id, err)
	}
	defer answer.Close()
	if _, err := io.Copy(io.Discard, answer); err != nil {
		return r.fault("load image "+id, err)
	}
	if _, err := r.Resolve(ctx, id); errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("%w: the archive has no %s", runtime.ErrOtherImage, id)
	} else if err != nil {
		return err
	}
	return nil
}
