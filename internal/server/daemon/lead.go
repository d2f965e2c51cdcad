package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/server/controlplane"
)

// several reports whether other servers may have the store at the same time.
func (d *daemon) several() bool { return d.peers != nil || d.external != nil || d.Shared }

// aloneSince returns when this server was started, if it is alone; zero among several.
func (d *daemon) aloneSince() time.Time {
	if d.several() {
		return time.Time{}
	}
	return d.life
}

func (d *daemon) candidate() controlplane.Candidate {
	return controlplane.Candidate{Store: d.store, Name: d.Name, Alone: d.alone, Unfit: d.unfit}
}

// unfit returns the reason why another server, if one runs, should have the controllers: this one's store takes no
// writes.
func (d *daemon) unfit() string {
	if len(d.others()) == 0 {
		return ""
	}
	return cmp.Or(d.full(), d.stalled())
}

// alone reports whether no other process can have the store: its only member is this process's.
func (d *daemon) alone() bool { return d.etcd != nil && len(d.etcd.Members()) == 1 }

// formerLeader returns the function that reports former leaders of the store; nil if the store is an external etcd,
// whose elections this server doesn't see.
func (d *daemon) formerLeader() func() time.Time {
	if d.etcd == nil {
		return nil
	}
	return d.etcd.FormerLeader
}

// lead runs the controllers during this server's term. Among several servers it waits for a term, and after a lost term
// for the next one.
func (d *daemon) lead(ctx context.Context) error {
	if !d.several() {
		return d.leadFor(ctx, d.term.Load())
	}
	for {
		term, err := d.elect(ctx)
		if err != nil {
			return nil //nolint:nilerr // ctx has ended
		}
		d.Logger.InfoContext(ctx, "this server has the controllers", "server", d.Name)
		err = d.leadFor(ctx, term)
		d.abdicate(ctx)
		if !errors.Is(err, controlplane.ErrDeposed) {
			return err
		}
		d.Logger.WarnContext(ctx, "this server has lost the controllers", "server", d.Name)
	}
}

// elect returns this server's term once it has one, or ctx's error if ctx ends first.
func (d *daemon) elect(ctx context.Context) (*controlplane.Term, error) {
	if term := d.term.Load(); term != nil {
		return term, nil // resume has claimed it
	}
	term, err := d.plane.Elect(ctx, d.candidate())
	if err == nil {
		d.term.Store(term)
	}
	return term, err
}

// abdicate releases this server's term, if it has one among several servers.
func (d *daemon) abdicate(ctx context.Context) {
	if !d.several() {
		return
	}
	if term := d.term.Swap(nil); term != nil {
		term.End(ctx)
	}
}

// leadFor does the work of the leading server during a term: it runs the controllers, declares the folder of manifests,
// takes due backups, trims the logs and rotates keys.
func (d *daemon) leadFor(ctx context.Context, term *controlplane.Term) error {
	within, end := context.WithCancel(ctx)
	var beside recovery.Group
	for _, keep := range []func(context.Context,
		*controlplane.Term){d.keepBackups, d.keepLogs, d.keepManifests, d.keepKeys} {
		beside.Go(func() {
			_ = recovery.Keep(within, func(ctx context.Context) error { keep(ctx, term); return nil })
		})
	}
	defer func() { end(); beside.Wait() }()
	return d.plane.Run(ctx, term)
}

// claimed makes sure that no other server has the controllers while this one resumes the cluster. It claims them again
// each time: afterwards a commit of an earlier resume that got no answer is either visible or can no longer be applied.
// It returns the revision of the term in which all of the resume is committed, which may end at any time; 0 if the
// cluster is not paused, so that there is nothing to settle.
func (d *daemon) claimed(ctx context.Context) (int64, error) {
	switch {
	case d.pause.why() == "":
		return 0, nil
	case !d.several():
		term, err := d.begin(ctx)
		if err != nil {
			return 0, err
		}
		return term, d.view.WaitFor(ctx, term)
	}
	wait, cancel := context.WithTimeout(ctx, 2*controlplane.ElectionTTL)
	defer cancel()
	term, err := d.elect(wait)
	if err == nil {
		return term.Revision(), d.view.WaitFor(ctx, term.Revision())
	}
	if d.followPause(ctx); d.pause.why() == "" { // another server has resumed meanwhile
		return 0, nil
	}
	holder, unread := d.store.Get(ctx, controlplane.ElectionKey)
	if other := controlplane.Leader(holder.Value); unread == nil && other != "" && other != d.Name {
		return 0, &api.Problem{Status: http.StatusConflict, Detail: "server " + other + " resumes at this moment",
			Next: "wait a moment; if tend get still says that it is paused: tend resume"}
	}
	return 0, fmt.Errorf("claim the controllers: %w", err)
}

// unclaimed releases the controllers after a failed resume.
func (d *daemon) unclaimed(ctx context.Context) {
	if d.pause.why() != "" {
		d.abdicate(ctx)
	}
}
