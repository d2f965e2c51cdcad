package runtimetest

import (
	"errors"

	"tend.dev/tend/internal/node/runtime"
)

func testResolve(f *fixture) {
	image, err := f.runtime.Resolve(f.Context(), f.Image)
	f.noError("resolve", err)
	if image.ID == "" || image.Reference != f.Image {
		f.Errorf("resolved %+v", image)
	}
	_, err = f.runtime.Resolve(f.Context(), f.AbsentImage)
	f.wantError("resolve an absent image", err, runtime.ErrNotFound)
	spec := f.spec()
	spec.ImageID = image.ID
	if container := f.create(spec); container.ImageID != image.ID {
		f.Errorf("container of image %s runs %s", image.ID, container.ImageID)
	}
}

func testPullAbsent(f *fixture) {
	_, err := f.runtime.Pull(f.Context(), runtime.PullSpec{Reference: f.AbsentImage}, nil)
	if err == nil {
		f.Fatal("an absent image was pulled")
	}
	if errors.Is(err, runtime.ErrUnavailable) {
		f.Errorf("a failed pull blames the engine: %v", err)
	}
}
