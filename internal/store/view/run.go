package view

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/store"
)

// The backoff of Run after a failure, doubling from the first to the last.
const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 5 * time.Second
)

// Run lists the store, follows it, and lists again whenever it lost its position. It returns only when ctx ends.
func (v *View) Run(ctx context.Context) error {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		progressed, err := v.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if progressed {
			backoff = firstBackoff
		}
		v.options.Logger.Warn("view lists the store again", "revision", v.Revision(), "error", err, "backoff", backoff)
		if err := delay.For(ctx, backoff/2+rand.N(backoff/2)); err != nil {
			return err
		}
	}
}

// follow lists, then watches until that fails. It reports whether the watch brought anything.
func (v *View) follow(ctx context.Context) (progressed bool, err error) {
	revision, err := v.list(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Watch the whole key space: then every commit is seen, and the view's revision is the store's.
	watcher := v.store.Watch(ctx, "", revision+1)
	for batch := range watcher.Batches() {
		v.feed(batch)
		progressed = true
	}
	return progressed, watcher.Err()
}

// list reads the store page by page at one revision and publishes the differences. Nothing is published unless the
// listing is complete, so a failing one is never taken for a wave of deletions.
func (v *View) list(ctx context.Context) (int64, error) {
	seen := make(map[string]struct{}, v.draft.Len())
	var changed []staged
	opts := store.ListOptions{Limit: v.options.PageSize}
	v.restart()
	for {
		page, err := v.store.List(ctx, "", opts)
		if err != nil {
			return 0, err
		}
		for _, entry := range page.Entries {
			if v.aside(store.Event{Entry: entry}) {
				continue
			}
			seen[entry.Key] = struct{}{}
			if !v.has(entry) {
				changed = append(changed, v.stage(store.Event{Entry: entry}))
			}
		}
		opts.Revision = page.Revision
		if !page.More {
			break
		}
		if len(page.Entries) == 0 {
			return 0, errors.New("list: an empty page that says more entries follow")
		}
		opts.After = page.Entries[len(page.Entries)-1].Key
	}
	v.reached(opts.Revision)
	v.install(opts.Revision, append(changed, v.unseen(seen)...))
	return opts.Revision, nil
}

// has reports whether the view already shows an entry. An entry that doesn't decode must be absent: a failed listing
// may have staged it before the view removed the value it replaced.
func (v *View) has(entry store.Entry) bool {
	record, shown := v.draft.Get(entry.Key)
	if bad, ok := v.undecodable[entry.Key]; ok {
		return bad == entry.Modified && !shown
	}
	return shown && record.Modified == entry.Modified
}

// unseen stages the deletion of the records that a listing did not find.
func (v *View) unseen(seen map[string]struct{}) []staged {
	var gone []staged
	for record := range v.draft.Prefix("") {
		if _, ok := seen[record.Key]; !ok {
			gone = append(gone, staged{key: record.Key, deleted: true})
		}
	}
	for key := range v.undecodable {
		if _, ok := seen[key]; !ok {
			delete(v.undecodable, key)
		}
	}
	return gone
}
