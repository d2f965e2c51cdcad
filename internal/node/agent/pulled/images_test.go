package pulled_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/internal/node/agent/pulled"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/retention"
)

// engine is a machine's images: those of its registry, and those it has.
type engine struct {
	runtime.Runtime
	registry map[string]string // reference to id
	images   map[string]*runtime.StoredImage
	busy     bool // a container is made from every image just now
	short    bool
}

func (e *engine) Pull(_ context.Context, spec runtime.PullSpec, _ func(int)) (runtime.Image, error) {
	id, ok := e.registry[spec.Reference]
	if !ok {
		return runtime.Image{}, runtime.ErrNotFound
	}
	e.tag(spec.Reference, id)
	return runtime.Image{ID: id, Reference: spec.Reference}, nil
}

func (e *engine) tag(reference, id string) {
	for _, image := range e.images {
		image.Tags = slices.DeleteFunc(image.Tags, func(tag string) bool { return tag == reference })
	}
	if e.images[id] == nil {
		e.images[id] = &runtime.StoredImage{ID: id, Digests: []string{"digest-of-" + id}}
	}
	e.images[id].Tags = append(e.images[id].Tags, reference)
}

func (e *engine) Images(context.Context) (out []runtime.StoredImage, err error) {
	for _, id := range slices.Sorted(maps.Keys(e.images)) {
		out = append(out, *e.images[id])
	}
	return out, nil
}

func (e *engine) Resolve(_ context.Context, reference string) (runtime.Image, error) {
	for id, image := range e.images {
		if slices.Contains(image.Tags, reference) || id == reference {
			return runtime.Image{ID: id}, nil
		}
	}
	return runtime.Image{}, runtime.ErrNotFound
}

func (e *engine) Untag(_ context.Context, reference string) error {
	if e.busy {
		return runtime.ErrInUse
	}
	for id, image := range e.images {
		image.Tags = slices.DeleteFunc(image.Tags, func(tag string) bool { return tag == reference })
		if len(image.Tags) == 0 {
			delete(e.images, id)
		}
	}
	return nil
}

func (e *engine) Info(context.Context) (runtime.Info, error) {
	return runtime.Info{DiskShort: e.short}, nil
}

func (e *engine) have() []string { return slices.Sorted(maps.Keys(e.images)) }

// bench is a machine with a clock.
type bench struct {
	*testing.T
	engine *engine
	images *pulled.Images
	now    time.Time
	needed map[string]bool
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, now: time.Now(), needed: map[string]bool{}, engine: &engine{
		registry: map[string]string{"r/web:1": "one", "r/web@sha256:1": "one", "r/web:2": "two", "r/web:latest": "one"},
		images:   map[string]*runtime.StoredImage{},
	}}
	b.images = pulled.New(pulled.Options{Runtime: b.engine, Ledger: retention.Open(t.TempDir(), "pulled", "c1"),
		Now: func() time.Time { return b.now }})
	return b
}

func (b *bench) pull(references ...string) {
	b.Helper()
	for _, reference := range references {
		if _, err := b.images.Pull(b.Context(), runtime.PullSpec{Reference: reference}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// collect collects, lets time pass, and collects again; what is left must be want.
func (b *bench) collect(reason string, passes time.Duration, want ...string) {
	b.Helper()
	for range 2 {
		err := b.images.Collect(b.Context(), func(_ context.Context, names []string) (map[string]bool, error) {
			out := map[string]bool{}
			for _, name := range names {
				out[name] = b.needed[name]
			}
			return out, nil
		})
		if err != nil {
			b.Fatal(err)
		}
		b.now = b.now.Add(passes)
	}
	if got := b.engine.have(); !slices.Equal(got, want) {
		b.Errorf("%s: it has %v, want %v", reason, got, want)
	}
}

const day = 25 * time.Hour

func TestCollect(t *testing.T) {
	b := newBench(t)
	b.engine.tag("r/web:2", "two") // before Tend pulled it
	b.pull("r/web:1", "r/web:2")
	b.needed["r/web:1"] = true
	b.collect("its reference is needed", day, "one", "two")
	b.needed = map[string]bool{"one": true}
	b.collect("its id is needed", day, "one", "two")
	b.needed = map[string]bool{"digest-of-one": true}
	b.collect("its digest is needed", day, "one", "two")
	b.needed = nil
	b.collect("an hour isn't a day", time.Hour, "one", "two")
	b.engine.images["one"].InUse = true
	b.collect("a container is made from it", day, "one", "two")
	b.engine.images["one"].InUse, b.engine.busy = false, true
	b.collect("a container was made meanwhile", day, "one", "two")
	b.engine.busy = false
	b.collect("nothing needs it; the other one was there before", day, "two")
	b.pull("r/web:1")
	b.engine.short = true
	b.collect("the disk is short", 11*time.Minute, "two")
}

func TestCollectMovedTag(t *testing.T) {
	b := newBench(t)
	b.pull("r/web:latest")
	b.engine.registry["r/web:latest"] = "three"
	b.pull("r/web:latest")
	b.needed["r/web:latest"] = true
	b.collect("the tag names the new image; the old one has no name", day, "three")

	b.engine.registry["r/web:latest"] = "four"
	b.engine.tag("mine:1", "three")
	b.pull("r/web:latest")
	b.needed = nil
	b.collect("a person named the old image", day, "three")
}

// TestPullFails: a pull that fails records nothing, and its error is passed on.
func TestPullFails(t *testing.T) {
	b := newBench(t)
	if _, err := b.images.Pull(t.Context(), runtime.PullSpec{Reference: "r/none:1"}, nil); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	b.collect("there is nothing", day)
}

// TestSurplus: what nothing needs is listed at once, and goes at once only by a prune.
func TestSurplus(t *testing.T) {
	b := newBench(t)
	b.engine.tag("r/web:2", "two")
	b.pull("r/web:1", "r/web:2")
	surplus := func(prune bool) []string {
		t.Helper()
		got, err := b.images.Surplus(t.Context(),
			func(context.Context, []string) (map[string]bool, error) { return b.needed, nil }, prune)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, image := range got {
			if image.Removed != prune {
				t.Errorf("prune %v: %+v", prune, image)
			}
			names = append(names, image.Image)
		}
		return names
	}
	b.needed["r/web:1"] = true
	if got := surplus(true); len(got) > 0 {
		t.Errorf("it is needed: %v", got)
	}
	b.needed = nil
	if got := surplus(false); !slices.Equal(got, []string{"r/web:1"}) ||
		!slices.Equal(b.engine.have(), []string{"one", "two"}) {
		t.Errorf("listed are %v of %v", got, b.engine.have())
	}
	if got := surplus(true); !slices.Equal(got, []string{"r/web:1"}) || !slices.Equal(b.engine.have(), []string{"two"}) {
		t.Errorf("pruned are %v; it has %v", got, b.engine.have())
	}
	if got := surplus(false); len(got) > 0 {
		t.Errorf("after the prune: %v", got)
	}
}
