package ownwrites

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// versions is a waiter that keeps the versions that it is called with.
type versions struct {
	cache.ResourceEventHandlerFuncs
	seen []string
}

func (v *versions) WaitForGet(context.Context, types.NamespacedName) error { return nil }

func (v *versions) OnUpdate(_, after any) {
	if is, err := meta.Accessor(after); err == nil {
		v.seen = append(v.seen, is.GetResourceVersion())
	}
}

// TestAnnouncesAVersionOnce: a version that the cache of a kind has reached is announced, and once.
func TestAnnouncesAVersionOnce(t *testing.T) {
	is, to, store := &Informers{}, &versions{}, cache.NewStore(cache.MetaNamespaceKeyFunc)
	is.add(to, store)
	for _, step := range []struct {
		version string
		want    []string
	}{
		{"", nil}, {"7", []string{"7"}}, {"7", []string{"7"}}, {"12", []string{"7", "12"}},
	} {
		if err := store.Replace(nil, step.version); err != nil {
			t.Fatal(err)
		}
		is.announce()
		if !slices.Equal(to.seen, step.want) {
			t.Errorf("after version %s: announced %q, want %q", step.version, to.seen, step.want)
		}
	}
}
