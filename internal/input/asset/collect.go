package asset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/internal/store/blob"
)

const (
	// grace is the time for which an unreferenced blob is kept: an upload precedes the apply that refers to it.
	grace = time.Hour
	// collectEvery is the interval between two collections.
	collectEvery = time.Hour
)

// Referred returns those of the digests that are in use.
type Referred func(ctx context.Context, digests []string) (map[string]bool, error)

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
// crash. referred is called after the blobs were listed.
func (l *Library) Collect(ctx context.Context, referred Referred) error {
	now := l.opts.Now()
	blobs, err := l.opts.Blobs.List()
	if err != nil {
		return err
	}
	digests := make([]string, len(blobs))
	for i, b := range blobs {
		digests[i] = b.Digest
	}
	used, err := referred(ctx, digests)
	if err != nil {
		return err
	}
	faults := []error{l.opts.Blobs.RemoveHalves(now.Add(-grace))}
	for _, b := range l.due(blobs, used, now, &faults) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.opts.Blobs.Remove(b.Digest, now.Add(-grace)); err != nil {
			faults = append(faults, err)
			continue
		}
		l.opts.Logger.InfoContext(ctx, "file removed that nothing refers to", "digest", b.Digest, "bytes",
			b.Size, "since", b.At)
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

// Run collects once synced is closed, and every hour, until ctx ends. It logs an error and retries an hour later.
func (l *Library) Run(ctx context.Context, synced <-chan struct{}, referred Referred) error {
	select {
	case <-synced:
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		if err := l.Collect(ctx, referred); err != nil && ctx.Err() == nil {
			l.opts.Logger.ErrorContext(ctx, "files nothing refers to could not be removed", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
