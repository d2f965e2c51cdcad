//go:build integration

package docker_test

import (
	"bytes"
	"errors"
	"io"
	goruntime "runtime"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/runtime"
)

// TestAnImageMoves: an engine loads an image that another saved, as the same image; anything else is refused.
func TestAnImageMoves(t *testing.T) {
	c := newCluster(t)
	image, err := c.Resolve(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	if image.Arch != goruntime.GOARCH {
		t.Errorf("it is for %q", image.Arch)
	}
	content, err := c.SaveImage(t.Context(), image.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	archive, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LoadImage(t.Context(), image.ID, bytes.NewReader(archive)); err != nil {
		t.Errorf("loaded again: %v", err)
	}
	absent := "sha256:" + strings.Repeat("0", 64)
	if err := c.LoadImage(t.Context(), absent, bytes.NewReader(archive)); !errors.Is(err, runtime.ErrOtherImage) {
		t.Errorf("as another image: %v", err)
	}
	if _, err := c.SaveImage(t.Context(), absent); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("an image that isn't there: %v", err)
	}
}

// TestAnArchiveIsTheSameAgain: a copy that was cut can continue from another archive of the same image.
func TestAnArchiveIsTheSameAgain(t *testing.T) {
	c := newCluster(t)
	image, err := c.Resolve(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	var archives [2][]byte
	for i := range archives {
		content, err := c.SaveImage(t.Context(), image.ID)
		if err != nil {
			t.Fatal(err)
		}
		archives[i], err = io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if len(archives[0]) == 0 || !bytes.Equal(archives[0], archives[1]) {
		t.Errorf("%d bytes, then %d others", len(archives[0]), len(archives[1]))
	}
}
