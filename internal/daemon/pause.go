package daemon

import (
	"context"
	"fmt"
	"sync"

	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store"
)

// standstill keeps a server from changing anything until an operator resumes. Create it with newPause.
type standstill struct {
	once    sync.Once
	resumed chan struct{}
	reason  string
}

// newPause returns a standstill for a reason; without a reason, one that has ended.
func newPause(reason string) *standstill {
	p := &standstill{resumed: make(chan struct{}), reason: reason}
	if reason == "" {
		p.resume()
	}
	return p
}

func (p *standstill) resume() { p.once.Do(func() { close(p.resumed) }) }

// why returns the reason while the server is paused.
func (p *standstill) why() string {
	select {
	case <-p.resumed:
		return ""
	default:
		return p.reason
	}
}

// wait blocks until the server is resumed; it returns false if ctx ends first.
func (p *standstill) wait(ctx context.Context) bool {
	select {
	case <-p.resumed:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// after returns a part that begins to run when the server is resumed.
func (p *standstill) after(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if !p.wait(ctx) {
			return nil
		}
		return run(ctx)
	}
}

// guarded is a store that refuses commits while the server is paused.
type guarded struct {
	store.Store
	pause *standstill
}

// Commit implements store.Store.
func (g guarded) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if why := g.pause.why(); why != "" {
		return 0, fmt.Errorf("%w: %s", store.ErrPaused, why)
	}
	return g.Store.Commit(ctx, txn)
}

// checkRestored compares the store's revision with the last one this cluster is known to have reached, before anything
// is written. A store that is behind was restored from a backup: acting on it would start containers that already run.
// It saves the finding first: this start's own writes could bring the store to a revision that no longer seems to be
// behind.
func (d *daemon) checkRestored(ctx context.Context) error {
	page, err := d.store.List(ctx, records.ClusterKey, store.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("read the store's revision: %w", err)
	}
	known := d.readProgress()
	switch {
	case page.Revision < known.Revision:
		d.pause = newPause(fmt.Sprintf("the store is at revision %d and this cluster was at %d: an older store was restored", page.Revision, known.Revision))
	case known.Restored && known.Backup != "":
		d.pause = newPause("restored from the backup of " + known.Backup)
	case known.Restored:
		d.pause = newPause("an older store was restored")
	case d.Paused:
		d.pause = newPause("the server was started with --paused")
	default:
		d.pause = newPause("")
		return nil
	}
	d.Logger.WarnContext(ctx, "paused: nothing is changed until tend resume", "reason", d.pause.why())
	if known.Restored {
		return nil
	}
	return d.writeProgress(progress{Revision: max(known.Revision, page.Revision), Restored: true})
}
