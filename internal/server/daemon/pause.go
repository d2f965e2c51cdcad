package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// pausable is the store of a server. While the cluster is paused, it refuses every commit whose site is not in
// allowedSites. The store itself decides that within the commit, so it holds also on a server that hasn't heard of the
// pause.
type pausable struct{ store.Store }

// allowedSites are the commits that a paused cluster accepts, by their site or its prefix: those of a resume, the
// reports of nodes and servers about themselves, the entries of machines, whose containers a resume compares with the
// store, and the removal of nodes: those that were removed after the backup are members again.
var allowedSites = []string{
	"pause.", "resume.", "election", "cluster.found", "authority.found",
	"agent.", "certs.", "server.", "member.enter", "node.remove", "token.make", "token.revoke", "token.spent",
}

// Commit implements store.Store.
func (p pausable) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	for _, site := range allowedSites {
		if strings.HasPrefix(txn.Site, site) {
			return p.Store.Commit(ctx, txn)
		}
	}
	txn.If = append([]store.Condition{{Key: records.PauseKey}}, txn.If...)
	revision, err := p.Store.Commit(ctx, txn)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Key != records.PauseKey {
		return revision, err
	}
	pause, unread := readStored[records.Pause](ctx, p.Store, records.PauseKey)
	if unread != nil || !pause.Exists() { // the pause has just ended: the caller tries again
		return 0, errors.Join(err, unread)
	}
	return 0, fmt.Errorf("%w: %s", store.ErrPaused, pause.Value.Reason)
}

// standstill tracks the cluster's pause on this server, and stops the server's parts meanwhile; the store itself
// refuses commits. Create it with newStandstill.
type standstill struct {
	mu     sync.Mutex
	reason string
	// resumed is closed while the cluster is not paused, begun while it is.
	resumed, begun chan struct{}
}

// newStandstill returns the standstill of a cluster that is paused for a reason; with an empty reason it isn't paused.
func newStandstill(reason string) *standstill {
	p := &standstill{resumed: make(chan struct{}), begun: make(chan struct{}), reason: reason}
	if reason == "" {
		close(p.resumed)
	} else {
		close(p.begun)
	}
	return p
}

// follow updates the reason for the pause. It calls read under its lock, so that an older reading never replaces a
// newer one.
func (p *standstill) follow(read func() string) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.reason
	p.reason = read()
	switch {
	case before == "" && p.reason != "":
		p.resumed = make(chan struct{})
		close(p.begun)
		return true
	case before != "" && p.reason == "":
		p.begun = make(chan struct{})
		close(p.resumed)
		return true
	}
	return false
}

// why returns the reason while the cluster is paused.
func (p *standstill) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// hold returns a channel that is closed once the cluster is not paused.
func (p *standstill) hold() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resumed
}

// interrupted returns a channel that is closed once the cluster is paused.
func (p *standstill) interrupted() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

// after returns a part that runs while the cluster is not paused: a pause ends its context, and a resume starts it
// again.
func (p *standstill) after(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			select {
			case <-p.hold():
			case <-ctx.Done():
				return nil
			}
			paused, err := p.during(ctx, run)
			if !paused || ctx.Err() != nil {
				return err
			}
		}
	}
}

// during runs a part until it ends or the cluster is paused, and reports whether that was why.
func (p *standstill) during(ctx context.Context, run func(context.Context) error) (paused bool, err error) {
	begun := p.interrupted()
	within, end := context.WithCancel(ctx)
	var watching recovery.Group
	watching.Go(func() {
		select {
		case <-begun:
			end()
		case <-within.Done():
		}
	})
	err = run(within)
	end()
	watching.Wait()
	select {
	case <-begun:
		return true, err
	default:
		return false, err
	}
}

// followPause follows the pause of the cluster in the view. The view must be complete.
func (d *daemon) followPause(ctx context.Context) {
	changed := d.pause.follow(func() string { return d.snapshot().PauseReason() })
	switch why := d.pause.why(); {
	case !changed:
	case why != "":
		d.Logger.WarnContext(ctx, "paused: nothing is changed until tend resume", "reason", why)
	default:
		d.Logger.InfoContext(ctx, "the pause of the cluster is over")
	}
}

// keepPause follows the cluster's pause until ctx ends.
func (d *daemon) keepPause(ctx context.Context) error {
	if d.awaitView(ctx) {
		d.followPause(ctx)
	}
	<-ctx.Done()
	return nil
}
