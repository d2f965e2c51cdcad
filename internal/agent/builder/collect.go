package builder

import (
	"context"
	"errors"
	"strings"

	"tend.dev/tend/internal/runtime"
)

// keptLogs is how many logs stay of builds whose image is not there: of those that failed, and of the last that went.
const keptLogs = 20

// Surplus are the names of images that nothing refers to. latest goes with the image it names.
func Surplus(built []runtime.BuiltImage, used map[string]bool) []string {
	wanted := map[string]bool{}
	for _, image := range built {
		wanted[image.ID] = wanted[image.ID] || used[image.Owner+":"+image.Build]
	}
	var out []string
	for _, image := range built {
		if !wanted[image.ID] {
			out = append(out, image.Tags...)
		}
	}
	return out
}

// Collect removes the images, of those built here, that used doesn't name, with their logs. It is asked after they were
// listed. One that a container is made from stays.
func (b *Builder) Collect(ctx context.Context, used func() map[string]bool) error {
	built, err := b.opts.Runtime.Built(ctx)
	if err != nil {
		return err
	}
	needed := used()
	var faults []error
	for _, name := range Surplus(built, needed) {
		switch err := b.opts.Runtime.Untag(ctx, name); {
		case errors.Is(err, runtime.ErrInUse):
		case err != nil:
			faults = append(faults, err)
		default:
			b.opts.Logger.InfoContext(ctx, "built image removed that nothing refers to", "image", name)
		}
	}
	faults = append(faults, b.opts.Journal.Surplus(func(called string) bool {
		return needed[strings.Replace(called, ".", ":", 1)]
	}, keptLogs))
	return errors.Join(faults...)
}
