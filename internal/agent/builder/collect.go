package builder

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tend.dev/tend/internal/runtime"
)

// keptLogs is how many logs are kept of builds without an image: of failed ones, and of the last that were deleted.
const keptLogs = 20

// Surplus returns the names that nothing refers to. latest goes with the build it names. If objects share an image, the
// names of each object are removed separately.
func Surplus(built []runtime.BuiltImage, used map[string]bool) []string {
	var out []string
	for _, image := range built {
		for _, name := range image.Tags {
			owner, _, _ := strings.Cut(name, ":")
			if !used[owner+":"+image.Build] {
				out = append(out, name)
			}
		}
	}
	return out
}

// Collect deletes the images that this cluster built and that used hasn't named for a day, with their logs. used is
// called after the images were listed. An image that a container is made from stays.
func (b *Builder) Collect(ctx context.Context, used func() map[string]bool) error {
	built, err := b.opts.Runtime.Built(ctx)
	if err != nil {
		return err
	}
	needed := used()
	var faults []error
	surplus := Surplus(built, needed)
	for _, name := range tagsOf(built) {
		due, err := b.opts.Images.Due(name, !slices.Contains(surplus, name), b.opts.Now())
		if err != nil {
			faults = append(faults, err)
		}
		if !due {
			continue
		}
		switch err := b.opts.Runtime.Untag(ctx, name); {
		case errors.Is(err, runtime.ErrInUse):
		case err != nil:
			faults = append(faults, err)
		default:
			faults = append(faults, b.opts.Images.Forget(name))
			b.opts.Logger.InfoContext(ctx, "built image removed that nothing refers to", "image", name)
		}
	}
	faults = append(faults, b.opts.Journal.Surplus(func(called string) bool {
		due, err := b.opts.Logs.Due(called, needed[strings.Replace(called, ".", ":", 1)], b.opts.Now())
		if err != nil {
			faults = append(faults, err)
		}
		return !due
	}, keptLogs))
	return errors.Join(faults...)
}

// claim records that a build belongs to this cluster. A claim that fails only costs disk space: nothing unclaimed is
// deleted.
func (b *Builder) claim(log string, images ...string) {
	fault := b.opts.Logs.Claim(log)
	for _, image := range images {
		fault = errors.Join(fault, b.opts.Images.Claim(image))
	}
	if fault != nil {
		b.opts.Logger.Warn("a build was not claimed; its images and log are kept", "images", images, "error", fault)
	}
}

func tagsOf(built []runtime.BuiltImage) (out []string) {
	for _, image := range built {
		out = append(out, image.Tags...)
	}
	return out
}
