package hollow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/delay"
)

// FailBuilds makes every build return err; nil ends that.
func (e *Engine) FailBuilds(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buildFailure = err
}

// Build implements runtime.Runtime: it makes an image from any source.
func (r *Runtime) Build(ctx context.Context, spec runtime.BuildSpec, output func(line string)) (runtime.Image, error) {
	if err := r.begin(ctx, "build", spec.Tags[0]); err != nil {
		return runtime.Image{}, err
	}
	e := r.engine
	e.mu.Lock()
	failure := e.buildFailure
	e.mu.Unlock()
	output("Step 1/1 : pretend to build " + spec.Tags[0])
	if err := delay.For(ctx, e.delay(func(o Options) func() time.Duration { return o.BuildDelay })); err != nil {
		return runtime.Image{}, err
	}
	if failure != nil {
		return runtime.Image{}, failure
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	id := e.imageLocked(spec.Tags[0])
	for _, tag := range spec.Tags[1:] {
		e.setImageLocked(tag, id)
	}
	if owner, build, found := strings.Cut(spec.Tags[0], ":"); found {
		e.built[id] = runtime.BuiltImage{ID: id,
			Origin: runtime.Origin{Owner: owner, Build: build, Scope: spec.Labels[api.LabelBuildScope]}}
	}
	return runtime.Image{ID: id, Reference: spec.Tags[0]}, nil
}

// Built implements runtime.Runtime.
func (r *Runtime) Built(ctx context.Context) ([]runtime.BuiltImage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := r.checkLocked(); err != nil {
		return nil, err
	}
	var out []runtime.BuiltImage
	for id, image := range e.built {
		for _, tag := range []string{image.Owner + ":" + image.Build, image.Owner + ":latest"} {
			if e.images[tag] == id {
				image.Tags = append(image.Tags, tag)
			}
		}
		if len(image.Tags) > 0 {
			out = append(out, image)
		}
	}
	slices.SortFunc(out, func(a, b runtime.BuiltImage) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Tag implements runtime.Runtime.
func (r *Runtime) Tag(ctx context.Context, image, reference string) error {
	if err := r.begin(ctx, "tag", reference); err != nil {
		return err
	}
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	found, err := r.engine.resolveLocked(image)
	if err != nil {
		return fmt.Errorf("tag %s: %w", reference, err)
	}
	r.engine.setImageLocked(reference, found.ID)
	return nil
}

// Untag implements runtime.Runtime.
func (r *Runtime) Untag(ctx context.Context, reference string) error {
	if err := r.begin(ctx, "untag", reference); err != nil {
		return err
	}
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	id, there := e.images[normal(reference)]
	if !there {
		return nil
	}
	last := true
	for name, other := range e.images {
		last = last && (other != id || name == normal(reference))
	}
	for _, c := range e.containers {
		if last && c.imageID == id {
			return runtime.ErrInUse
		}
	}
	delete(e.images, normal(reference))
	if last {
		delete(e.imageIDs, id)
		delete(e.built, id)
	}
	e.emitImageLocked(reference)
	return nil
}
