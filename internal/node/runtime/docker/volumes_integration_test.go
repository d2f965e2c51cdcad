//go:build integration

package docker_test

import (
	"context"
	"errors"
	"testing"
)

// The predecessor's volume of a claim is found until Tend's own volume exists.
func TestOlderVolume(t *testing.T) {
	c := newCluster(t)
	const ours, older = "tend-tendtest-older-data-0", "voodu-tendtest-older-data-0"
	t.Cleanup(func() {
		if err := errors.Join(c.RemoveVolume(context.Background(), ours, nil),
			c.RemoveVolume(context.Background(), older, nil)); err != nil {
			t.Log(err)
		}
	})
	finder, ok := c.Runtime.(interface {
		OlderVolume(ctx context.Context, name string) (string, error)
	})
	if !ok {
		t.Fatal("the runtime can't find older volumes")
	}
	wants := func(reason, want string) {
		t.Helper()
		if got, err := finder.OlderVolume(t.Context(), ours); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", reason, got, err, want)
		}
	}
	wants("there is none", "")
	for _, step := range []struct{ name, reason, want string }{{older, "it is there", older},
		{ours, "ours is there, too", ""}} {
		if err := c.EnsureVolume(t.Context(), step.name, nil); err != nil {
			t.Fatal(err)
		}
		wants(step.reason, step.want)
	}
}
