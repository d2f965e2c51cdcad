package builder

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// keptLogs is the number of logs kept of builds without an image: of failed ones, and of the last that were deleted.
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

// Referred returns which of some images (<scope>-<name>:<build>) something refers to.
type Referred func(ctx context.Context, images []string) (map[string]bool, error)

// Collect deletes the images that this cluster built and that nothing has referred to for a day, with their logs.
// referred is called after images and logs were listed. An image that a container is made from stays.
func (b *Builder) Collect(ctx context.Context, referred Referred) error {
	built, err := b.opts.Runtime.Built(ctx)
	if err != nil {
		return err
	}
	logs, err := b.opts.BuildLogs.Names()
	if err != nil {
		return err
	}
	needed, err := referred(ctx, slices.Concat(imagesOf(built), imagesOfLogs(logs)))
	if err != nil {
		return err
	}
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
		_, err = b.untag(ctx, name)
		faults = append(faults, err)
	}
	faults = append(faults, b.opts.BuildLogs.Surplus(func(called string) bool {
		due, err := b.opts.Logs.Due(called, needed[imageOfLog(called)], b.opts.Now())
		if err != nil {
			faults = append(faults, err)
		}
		return !due
	}, keptLogs))
	return errors.Join(faults...)
}

// Surplus returns the images that this cluster built and that nothing refers to. stored are all images of the machine,
// for their sizes. With prune it removes them now, whatever is left of their wait.
func (b *Builder) Surplus(
	ctx context.Context, stored []runtime.StoredImage, referred Referred, prune bool,
) ([]api.SurplusImage, error) {
	built, err := b.opts.Runtime.Built(ctx)
	if err != nil {
		return nil, err
	}
	needed, err := referred(ctx, imagesOf(built))
	if err != nil {
		return nil, err
	}
	surplus := Surplus(built, needed)
	var out []api.SurplusImage
	for _, image := range built {
		var kept runtime.StoredImage
		if i := slices.IndexFunc(stored, func(s runtime.StoredImage) bool { return s.ID == image.ID }); i >= 0 {
			kept = stored[i]
		}
		for _, name := range image.Tags {
			since, alone, err := b.opts.Images.Waiting(name)
			if err != nil {
				return out, err
			}
			if !alone || !slices.Contains(surplus, name) || kept.InUse {
				continue
			}
			one := api.SurplusImage{Image: name, Bytes: kept.Bytes, Since: since}
			if prune {
				if one.Removed, err = b.untag(ctx, name); err != nil {
					return out, err
				}
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// untag removes a name of an image that was built, and reports whether it is gone: a container may be made from it.
func (b *Builder) untag(ctx context.Context, name string) (bool, error) {
	switch err := b.opts.Runtime.Untag(ctx, name); {
	case errors.Is(err, runtime.ErrInUse):
		return false, nil
	case err != nil:
		return false, err
	}
	b.opts.Logger.InfoContext(ctx, "built image removed that nothing refers to", "image", name)
	return true, b.opts.Images.Forget(name)
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

// imagesOf returns the names of built images by their build, as references use them.
func imagesOf(built []runtime.BuiltImage) (out []string) {
	for _, image := range built {
		for _, name := range image.Tags {
			owner, _, _ := strings.Cut(name, ":")
			out = append(out, owner+":"+image.Build)
		}
	}
	return out
}

func imagesOfLogs(logs []string) []string {
	out := make([]string, len(logs))
	for i, called := range logs {
		out[i] = imageOfLog(called)
	}
	return out
}

// imageOfLog returns the image whose build a log is of.
func imageOfLog(called string) string { return strings.Replace(called, ".", ":", 1) }

func tagsOf(built []runtime.BuiltImage) (out []string) {
	for _, image := range built {
		out = append(out, image.Tags...)
	}
	return out
}
