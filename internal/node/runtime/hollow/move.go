package hollow

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tend.dev/tend/internal/node/runtime"
)

// SaveImage implements runtime.Runtime: the content of an image is its id.
func (r *Runtime) SaveImage(ctx context.Context, id string) (io.ReadCloser, error) {
	if err := r.begin(ctx, "save", id); err != nil {
		return nil, err
	}
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	if !r.engine.imageIDs[id] {
		return nil, fmt.Errorf("image %s: %w", id, runtime.ErrNotFound)
	}
	return io.NopCloser(strings.NewReader(id)), nil
}

// LoadImage implements runtime.Runtime.
func (r *Runtime) LoadImage(ctx context.Context, id string, content io.Reader) error {
	if err := r.begin(ctx, "load", id); err != nil {
		return err
	}
	got, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if string(got) != id {
		return fmt.Errorf("%w: read %.80q, not %s", runtime.ErrOtherImage, got, id)
	}
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	r.engine.imageIDs[id] = true
	return nil
}
