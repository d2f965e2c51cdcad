package daemon

import (
	"context"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// betweens calls then once, after an engine has answered that it has an image, and before the answer is used.
type betweens struct {
	runtime.Runtime
	image string
	then  func()
	done  *atomic.Bool
}

// Resolve implements runtime.Runtime.
func (b betweens) Resolve(ctx context.Context, reference string) (runtime.Image, error) {
	image, err := b.Runtime.Resolve(ctx, reference)
	if reference == b.image && err == nil && b.done.CompareAndSwap(false, true) {
		b.then()
	}
	return image, err
}

// TestAnImageThatChangesBeforeItsContainerStarts: a node reports an image that is retagged or removed before its
// container is made. In the end the image runs that the name refers to by then.
func TestAnImageThatChangesBeforeItsContainerStarts(t *testing.T) {
	for name, change := range map[string]func(*machine) string{
		"its tag moves": func(m *machine) string { return m.engine.Retag("web:1") },
		"it is removed, and a registry has another": func(m *machine) string {
			id := m.engine.PublishImage("web:1")
			m.engine.RemoveImage("web:1")
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			first, want := m.engine.AddImage("web:1"), ""
			r := m.startWith(func(o *Options) {
				o.AroundRuntime = func(engine runtime.Runtime) runtime.Runtime {
					return betweens{engine, "web:1", func() { want = change(m) }, &atomic.Bool{}}
				}
			}).ready()
			r.apply(manifestOf(web, nil))
			r.until("it runs what the name stands for", func() bool { return len(imagesOf(m)) == 1 && imagesOf(m)[want] })
			if want == first {
				t.Error("the image has not changed")
			}
		})
	}
}

// imagesOf returns the images of the containers that run.
func imagesOf(m *machine) map[string]bool {
	out := map[string]bool{}
	for _, c := range m.engine.Containers() {
		if c.State == runtime.StateRunning {
			out[c.ImageID] = true
		}
	}
	return out
}

// TestAnImageThatWasBuiltBeforeAnApply: only the image runs to which a tag refers at the apply, whatever the node
// reported before.
func TestAnImageThatWasBuiltBeforeAnApply(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.startWith(func(*Options) {}).ready()
	for _, name := range []string{"a", "b", "c"} {
		built := m.engine.Retag("web:1")
		ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}
		r.converged(ref, r.apply(manifestOf(ref, nil)))
		if images := released(m, ref); len(images) != 1 || images[0] != built {
			t.Errorf("%s was built as %s, its releases have %q", name, built, images)
		}
	}
}

// TestAnImageThatMovesWhileAnObjectIsRefused: the node's report at the apply is outdated once the object's environment
// can be resolved.
func TestAnImageThatMovesWhileAnObjectIsRefused(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.startWith(func(*Options) {}).ready()
	revision := r.apply(manifestOf(web, func(s *api.DeploymentSpec) { s.EnvFrom = []string{"prod/settings"} }))
	r.until("it is refused", func() bool {
		status, known := r.status(web)
		return known && status.ObservedRevision >= revision
	})
	moved := m.engine.Retag("web:1")
	set := api.ConfigRequest{Set: map[string]string{"A": "1"}}
	if _, err := r.client.SetConfig(t.Context(), "prod", "settings", set); err != nil {
		t.Fatal(err)
	}
	r.converged(web, revision)
	if images := released(m, web); len(images) != 1 || images[0] != moved {
		t.Errorf("it moved to %s, the releases have %q", moved, images)
	}
}

// released returns the images of an object's releases.
func released(m *machine, of api.Ref) (images []string) {
	m.t.Helper()
	page, err := m.store.List(m.t.Context(), records.ReleasePrefix(of), store.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, entry := range page.Entries {
		release, err := records.Decode(entry.Key, entry.Value)
		if err != nil {
			m.t.Fatal(err)
		}
		images = append(images, release.(*api.Release).ImageID)
	}
	return images
}
