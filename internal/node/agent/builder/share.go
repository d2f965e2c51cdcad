package builder

import (
	"context"
	"slices"
	"strings"
	"sync"

	"tend.dev/tend/api"
)

// Objects of a scope with the same tree and the same build block share an image: a web server, its worker and its
// migration are usually one program. It is built for the first of them; the others wait and add their names to it.

// once builds an image, or reuses one with the same build of another object. Its caller has the turn.
func (b *Builder) once(ctx context.Context, owner api.Ref, build api.ImageBuild, output *output) error {
	from, err := b.builtAlike(ctx, owner.Scope, build)
	if err != nil {
		return err
	}
	if from == "" {
		return b.run(ctx, owner, build, output)
	}
	output.Line("the image is that of " + from + ", which is built alike")
	return b.opts.Runtime.Tag(ctx, from, build.Image(owner))
}

// builtAlike returns the name of an image of the same build in the scope; empty if there is none.
func (b *Builder) builtAlike(ctx context.Context, scope string, build api.ImageBuild) (string, error) {
	built, err := b.opts.Runtime.Built(ctx)
	if err != nil {
		return "", err
	}
	for _, image := range built {
		of := func(name string) bool { return strings.HasSuffix(name, ":"+build.ID) }
		if i := slices.IndexFunc(image.Tags, of); i >= 0 && image.Build == build.ID && image.Scope == scope {
			return image.Tags[i], nil
		}
	}
	return "", nil
}

// turns lets only one caller at a time work on a build. The zero value is ready to use.
type turns struct {
	mu    sync.Mutex
	taken map[string]*turn
}

// turn is the turn of one build; waiting counts the callers that have it or wait for it.
type turn struct {
	place   chan struct{}
	waiting int
}

// take waits until no other caller works on a build, and returns a function that ends the turn.
func (t *turns) take(ctx context.Context, build string) (release func(), err error) {
	t.mu.Lock()
	if t.taken == nil {
		t.taken = map[string]*turn{}
	}
	this := t.taken[build]
	if this == nil {
		this = &turn{place: make(chan struct{}, 1)}
		t.taken[build] = this
	}
	this.waiting++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if this.waiting--; this.waiting == 0 {
			delete(t.taken, build)
		}
	}
	select {
	case this.place <- struct{}{}:
		return func() { <-this.place; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
