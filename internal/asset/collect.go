package asset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/blob"
	"tend.dev/tend/internal/layout"
)

const (
	// grace is how long an unreferenced blob is kept: an upload precedes the apply that refers to it.
	grace = time.Hour
	// collectEvery is the interval between two collections.
	collectEvery = time.Hour
)

// Referenced returns the digests something refers to: the files of assets, what consumers were stamped with, the source
// they are built from, and what releases were made with, which are kept to return to.
func Referenced(s layout.Snapshot) map[string]bool {
	used := map[string]bool{}
	add := func(digests map[string]string) {
		for _, digest := range digests {
			used[digest] = true
		}
	}
	for _, kind := range api.Kinds {
		for object := range s.Objects(kind) {
			add(object.Value.FileDigests())
			add(object.Value.AssetDigests())
			add(object.Value.HookDigests())
			if tree := object.Value.Tree(); tree != "" {
				used[tree] = true
			}
		}
	}
	for record := range s.Prefix(layout.ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok {
			add(release.AssetDigests)
			if release.Build != nil {
				used[release.Build.Tree] = true
			}
		}
	}
	return used
}

// due returns the blobs to delete: nothing refers to them, they are older than the grace period, and the ledger permits
// it. It also reports to the ledger which blobs are in use.
func (l *Library) due(blobs []blob.Blob, used map[string]bool, now time.Time, faults *[]error) []blob.Blob {
	var out []blob.Blob
	for _, b := range blobs {
		if !used[b.Digest] && now.Sub(b.At) <= grace {
			continue // an upload whose apply may follow
		}
		due, err := l.opts.Ledger.Due(b.Digest, used[b.Digest], now)
		if err != nil {
			*faults = append(*faults, err)
		}
		if due {
			out = append(out, b)
		}
	}
	return out
}

// Collect deletes the blobs of this cluster that nothing has referred to for a day, and the half-written files of a
// crash. The snapshot must be complete.
func (l *Library) Collect(ctx context.Context, s layout.Snapshot) error {
	now := l.opts.Now()
	blobs, err := l.opts.Blobs.List()
	if err != nil {
		return err
	}
	faults := []error{l.opts.Blobs.RemoveHalves(now.Add(-grace))}
	for _, b := range l.due(blobs, Referenced(s), now, &faults) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.opts.Blobs.Remove(b.Digest, now.Add(-grace)); err != nil {
			faults = append(faults, err)
			continue
		}
		l.opts.Logger.InfoContext(ctx, "file removed that nothing refers to", "digest", b.Digest, "bytes", b.Size, "at", b.At)
	}
	faults = append(faults, l.forgetGone())
	l.opts.Logger.DebugContext(ctx, "collected files", "files", len(blobs))
	return errors.Join(faults...)
}

func (l *Library) forgetGone() error {
	blobs, err := l.opts.Blobs.List()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, b := range blobs {
		there[b.Digest] = true
	}
	if err := l.cache.forget(func(digest string) bool { return there[digest] }); err != nil {
		return fmt.Errorf("forget fetched files: %w", err)
	}
	return nil
}

// Run collects once the snapshot is complete, and every hour, until ctx ends. It logs an error and retries an hour
// later.
func (l *Library) Run(ctx context.Context, synced <-chan struct{}, picture func() layout.Snapshot) error {
	select {
	case <-synced:
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		if err := l.Collect(ctx, picture()); err != nil && ctx.Err() == nil {
			l.opts.Logger.ErrorContext(ctx, "files nothing refers to could not be removed", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
