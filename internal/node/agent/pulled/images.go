package pulled

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/pulled"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/retention"
)

// Options are the dependencies of Images. All are needed but Now and Logger.
type Options struct {
	Runtime runtime.Runtime
	Ledger  *retention.Ledger
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger gets a line for each image that is removed. Default: discards.
	Logger *slog.Logger
}

// Images are the images that were pulled to this machine.
type Images struct{ opts Options }

// New returns the images of a machine.
func New(opts Options) *Images {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Images{opts: opts}
}

// Referred returns which of some references, ids and digests something refers to.
type Referred func(ctx context.Context, names []string) (map[string]bool, error)

// Pull pulls an image, and records it if that brought it here.
func (m *Images) Pull(ctx context.Context, spec runtime.PullSpec, progress func(percent int)) (runtime.Image, error) {
	before, known := m.stored(ctx)
	image, err := m.opts.Runtime.Pull(ctx, spec, progress)
	if _, had := before[image.ID]; err != nil || !known || had {
		return image, err
	}
	if fault := m.opts.Ledger.Claim(entry{spec.Reference, image.ID}.name()); fault != nil {
		m.opts.Logger.WarnContext(ctx, "a pull was not recorded; its image is kept", "image", spec.Reference, "error", fault)
	}
	return image, nil
}

// stored returns the images of the machine by id; false if the runtime can't list them.
func (m *Images) stored(ctx context.Context) (map[string]runtime.StoredImage, bool) {
	store, ok := runtime.As[runtime.ImageStore](m.opts.Runtime)
	if !ok {
		return nil, false
	}
	images, err := store.Images(ctx)
	if err != nil {
		return nil, false
	}
	out := make(map[string]runtime.StoredImage, len(images))
	for _, image := range images {
		out[image.ID] = image
	}
	return out, true
}

// entry is a pull in the ledger.
type entry struct{ reference, id string }

// name is the entry's name in the ledger, where a file can't have a slash.
func (e entry) name() string { return url.PathEscape(e.reference) + "," + e.id }

func readEntry(name string) (entry, bool) {
	escaped, id, ok := strings.Cut(name, ",")
	reference, err := url.PathUnescape(escaped)
	return entry{reference, id}, ok && err == nil
}

// Collect removes what nothing needs any more.
func (m *Images) Collect(ctx context.Context, referred Referred) error {
	store, ok := runtime.As[runtime.ImageStore](m.opts.Runtime)
	if !ok {
		return nil
	}
	names, err := m.opts.Ledger.Claimed()
	if err != nil || len(names) == 0 {
		return err
	}
	images, err := m.observe(ctx, store, names)
	if err != nil {
		return err
	}
	if err := refer(ctx, images, referred); err != nil {
		return err
	}
	info, err := m.opts.Runtime.Info(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, image := range images {
		if err := m.settle(ctx, image, info.DiskShort); err != nil {
			faults = append(faults, fmt.Errorf("collect image %s: %w", image.Reference, err))
		}
	}
	return errors.Join(faults...)
}

// Surplus returns the images that nothing needs. With prune it removes them now, whatever is left of their wait.
func (m *Images) Surplus(ctx context.Context, referred Referred, prune bool) ([]api.SurplusImage, error) {
	store, ok := runtime.As[runtime.ImageStore](m.opts.Runtime)
	if !ok {
		return nil, nil
	}
	names, err := m.opts.Ledger.Claimed()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	images, err := m.observe(ctx, store, names)
	if err == nil {
		err = refer(ctx, images, referred)
	}
	if err != nil {
		return nil, err
	}
	var out []api.SurplusImage
	for _, image := range images {
		since, alone, err := m.opts.Ledger.Waiting(entry{image.Reference, image.ID}.name())
		if err != nil {
			return out, err
		}
		image.Since = m.opts.Now().Add(-pulled.Wait)
		verdict := pulled.Decide(image, false, m.opts.Now())
		if !alone || verdict != pulled.Untag && verdict != pulled.Remove {
			continue
		}
		one := api.SurplusImage{Image: image.Reference, Bytes: image.Bytes, Since: since}
		if prune {
			if one.Removed, err = m.carry(ctx, image, verdict); err != nil {
				return out, err
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// observe returns the recorded images as the engine has them now.
func (m *Images) observe(ctx context.Context, store runtime.ImageStore, names []string) ([]pulled.Image, error) {
	images, err := store.Images(ctx)
	if err != nil {
		return nil, err
	}
	var out []pulled.Image
	for _, name := range names {
		e, ok := readEntry(name)
		if !ok {
			continue
		}
		image := pulled.Image{Reference: e.reference, ID: e.id}
		if i := slices.IndexFunc(images, func(s runtime.StoredImage) bool { return s.ID == e.id }); i >= 0 {
			image.Present, image.Tags, image.InUse = true, images[i].Tags, images[i].InUse
			found, err := m.opts.Runtime.Resolve(ctx, e.reference)
			if err != nil && !errors.Is(err, runtime.ErrNotFound) {
				return nil, err
			}
			image.Named = err == nil && found.ID == e.id
			image.Digests, image.Bytes = images[i].Digests, images[i].Bytes
		}
		out = append(out, image)
	}
	return out, nil
}

// refer asks which of the images something refers to: by what was pulled, by the image's id, or by its digest.
func refer(ctx context.Context, images []pulled.Image, referred Referred) error {
	var asked []string
	for _, image := range images {
		asked = append(asked, names(image)...)
	}
	slices.Sort(asked)
	needed := map[string]bool{}
	for part := range slices.Chunk(slices.Compact(asked), node.MaxReferred) {
		some, err := referred(ctx, part)
		if err != nil {
			return err
		}
		for name, is := range some {
			needed[name] = needed[name] || is
		}
	}
	for i := range images {
		images[i].Referred = slices.ContainsFunc(names(images[i]), func(name string) bool { return needed[name] })
	}
	return nil
}

// names returns the references of an image. A reference that now names another image isn't one of them.
func names(image pulled.Image) []string {
	out := append([]string{image.ID}, image.Digests...)
	if image.Named {
		out = append(out, image.Reference)
	}
	return out
}

// settle does what is decided about one image.
func (m *Images) settle(ctx context.Context, image pulled.Image, short bool) error {
	name := entry{image.Reference, image.ID}.name()
	since, alone, err := m.opts.Ledger.Waiting(name)
	if err != nil || !alone { // another cluster on this machine may need it
		return err
	}
	image.Since = since
	//exhaustive:enforce
	switch verdict := pulled.Decide(image, short, m.opts.Now()); verdict {
	case pulled.Keep:
		return m.opts.Ledger.Claim(name)
	case pulled.Begin:
		return m.opts.Ledger.Await(name, m.opts.Now())
	case pulled.Await:
	case pulled.Forget:
		return m.opts.Ledger.Forget(name)
	case pulled.Remove, pulled.Untag:
		_, err = m.carry(ctx, image, verdict)
	}
	return err
}

// carry removes an image, or its name, and reports whether it is gone: a container may have been made since.
func (m *Images) carry(ctx context.Context, image pulled.Image, verdict pulled.Verdict) (bool, error) {
	target := image.Reference
	if verdict == pulled.Remove {
		target = image.ID
	}
	switch err := m.opts.Runtime.Untag(ctx, target); {
	case errors.Is(err, runtime.ErrInUse):
		return false, nil
	case err != nil:
		return false, err
	}
	m.opts.Logger.InfoContext(ctx, "pulled image removed that nothing refers to", "image", image.Reference)
	return true, m.opts.Ledger.Forget(entry{image.Reference, image.ID}.name())
}
