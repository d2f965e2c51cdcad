//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/rootfs"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// keptImages is the number of unused images kept for rollbacks.
const keptImages = 10

// Resolve implements runtime.Runtime.
func (r *Runtime) Resolve(ctx context.Context, reference string) (runtime.Image, error) {
	if err := r.check(ctx); err != nil {
		return runtime.Image{}, err
	}
	image, err := r.claim(r.images.Resolve(ctx, reference))
	if errors.Is(err, rootfs.ErrNotFound) {
		return runtime.Image{}, fmt.Errorf("%w: %w", runtime.ErrNotFound, err)
	}
	if err != nil {
		return runtime.Image{}, r.diskFull("copy image "+reference, err)
	}
	return runtime.Image{ID: image.ID, Reference: reference, User: image.Config.User}, nil
}

// Pull implements runtime.Runtime. There is no registry to pull from: the machine either has an image or it doesn't.
func (r *Runtime) Pull(ctx context.Context, spec runtime.PullSpec, progress func(percent int)) (runtime.Image, error) {
	if err := r.check(ctx); err != nil {
		return runtime.Image{}, err
	}
	image, err := r.local(ctx, spec.Reference)
	if err != nil {
		return runtime.Image{}, err
	}
	if progress != nil {
		progress(100)
	}
	return runtime.Image{ID: image.ID, Reference: spec.Reference, User: image.Config.User}, nil
}

// local returns an image of this machine. If there is none, the reference is rejected.
func (r *Runtime) local(ctx context.Context, reference string) (rootfs.Image, error) {
	image, err := r.claim(r.images.Resolve(ctx, reference))
	switch {
	case errors.Is(err, rootfs.ErrNotFound):
		return image, r.noImage(err)
	case errors.Is(err, rootfs.ErrTooLarge):
		return image, &runtime.RejectedError{
			Reason: "ImageTooLarge", Detail: err.Error(), Next: "name a folder that holds only the program and its files",
		}
	}
	return image, r.diskFull("copy image "+reference, err)
}

// noImage returns the error of a reference that names no image of this machine.
func (r *Runtime) noImage(err error) error {
	rejected := &runtime.RejectedError{Reason: "ImageNotFound", Detail: err.Error(), Next: "correct the tag in image"}
	if missing, ok := errors.AsType[*rootfs.NoFolderError](err); ok {
		rejected.Detail = r.place() + " has " + missing.Error()
		rejected.Next = "correct `image`: an absolute path, or a name below " + r.opts.Images
	}
	return rejected
}

// prune removes images that have been unused for long. If it fails, the next call tries again.
func (r *Runtime) prune() {
	used := map[string]bool{}
	damaged, err := r.scan(func(_ string, record shim.Record) error {
		used[record.ImageID] = true
		return nil
	})
	if err == nil && len(damaged) == 0 {
		_ = r.images.Prune(used, keptImages, r.imageDue)
	}
}

// imageDue reports whether an unused image may be deleted now.
func (r *Runtime) imageDue(id string) bool {
	due, err := r.ledger.Due(id, false, time.Now())
	if due && err == nil {
		_ = r.ledger.Forget(id)
	}
	return due && err == nil
}

// claim records that this cluster uses an image. A failed claim only costs disk space.
func (r *Runtime) claim(image rootfs.Image, err error) (rootfs.Image, error) {
	if err == nil {
		_ = r.ledger.Claim(image.ID)
	}
	return image, err
}

// sweep removes folders whose creation or removal was interrupted.
func (r *Runtime) sweep() {
	left, _ := filepath.Glob(filepath.Join(r.dir, trash+"*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
}
