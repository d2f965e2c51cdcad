package hollow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/delay"
)

// published is an image in the simulated registry.
type published struct {
	id      string
	failure error
}

// AddImage puts an image on the machine, as a build or a load does, and returns its id. An existing image stays.
func (e *Engine) AddImage(reference string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id, ok := e.images[normal(reference)]; ok {
		return id
	}
	return e.imageLocked(reference)
}

// Retag moves a reference to a new image and returns its id, as a new build under the same tag does.
func (e *Engine) Retag(reference string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.imageLocked(reference)
}

// RemoveImage removes a reference from the machine.
func (e *Engine) RemoveImage(reference string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id, ok := e.images[normal(reference)]; ok {
		delete(e.images, normal(reference))
		delete(e.imageIDs, id)
		e.emitImageLocked(reference)
	}
}

// PublishImage puts a new image into the registry that Pull asks, and returns its id.
func (e *Engine) PublishImage(reference string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := "sha256:" + digestOf("image %d %s", e.nextLocked(), reference)
	e.registry[normal(reference)] = published{id: id}
	return id
}

// FailPulls makes every pull of a reference return err; nil ends that.
func (e *Engine) FailPulls(reference string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	image := e.registry[normal(reference)]
	image.failure = err
	e.registry[normal(reference)] = image
}

func (e *Engine) imageLocked(reference string) string {
	id := "sha256:" + digestOf("image %d %s", e.nextLocked(), reference)
	e.setImageLocked(reference, id)
	return id
}

func (e *Engine) setImageLocked(reference, id string) {
	if e.images[normal(reference)] == id {
		return
	}
	e.images[normal(reference)] = id
	e.imageIDs[id] = true
	e.emitImageLocked(reference)
}

// normal adds the default tag to a reference without one.
func normal(reference string) string {
	if strings.Contains(reference, "@") || strings.Contains(reference[strings.LastIndex(reference, "/")+1:], ":") {
		return reference
	}
	return reference + ":latest"
}

// Resolve implements runtime.Runtime.
func (r *Runtime) Resolve(ctx context.Context, reference string) (runtime.Image, error) {
	if err := ctx.Err(); err != nil {
		return runtime.Image{}, err
	}
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	if err := r.checkLocked(); err != nil {
		return runtime.Image{}, err
	}
	return r.engine.resolveLocked(reference)
}

func (e *Engine) resolveLocked(reference string) (runtime.Image, error) {
	if e.imageIDs[reference] {
		return runtime.Image{ID: reference, Reference: reference, Origin: e.built[reference].Origin}, nil
	}
	id, ok := e.images[normal(reference)]
	if !ok && e.opts.AnyImage {
		id, ok = e.imageLocked(reference), true
	}
	if !ok {
		return runtime.Image{}, fmt.Errorf("image %s: %w", reference, runtime.ErrNotFound)
	}
	image := runtime.Image{ID: id, Reference: reference, Origin: e.built[id].Origin}
	if e.registry[normal(reference)].id == id {
		image.Digest = id
	}
	if _, digest, pinned := strings.Cut(reference, "@"); pinned {
		image.Digest = digest
	}
	return image, nil
}

// Pull implements runtime.Runtime.
func (r *Runtime) Pull(ctx context.Context, spec runtime.PullSpec, progress func(percent int)) (runtime.Image, error) {
	if err := r.begin(ctx, "pull", spec.Reference); err != nil {
		return runtime.Image{}, err
	}
	if progress != nil {
		progress(0)
	}
	if err := delay.For(ctx, r.engine.delay(func(o Options) func() time.Duration { return o.PullDelay })); err != nil {
		return runtime.Image{}, err
	}
	image, err := r.engine.pull(spec.Reference)
	if err == nil && progress != nil {
		progress(100)
	}
	return image, err
}

func (e *Engine) pull(reference string) (runtime.Image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return runtime.Image{}, runtime.ErrUnavailable
	}
	image, ok := e.registry[normal(reference)]
	switch {
	case ok && image.failure != nil:
		return runtime.Image{}, fmt.Errorf("pull %s: %w", reference, image.failure)
	case !ok && e.opts.AnyImage:
		if _, built := e.built[e.images[normal(reference)]]; built {
			e.imageLocked(reference) // the registry's image of that name is another one
		}
		return e.resolveLocked(reference)
	case !ok:
		return runtime.Image{}, &runtime.RejectedError{
			Reason: "ImageNotFound", Detail: "docker.io has no image " + reference, Next: "correct `image`, or push it; then apply again",
		}
	}
	e.setImageLocked(reference, image.id)
	return e.resolveLocked(reference)
}
