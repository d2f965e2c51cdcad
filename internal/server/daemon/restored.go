package daemon

import (
	"context"
	"fmt"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// finding is the state of the cluster that a starting server finds, before it writes anything.
type finding struct {
	// known is the progress stored in the root.
	known progress
	// revision is the store's.
	revision int64
	// now is the present pause of the cluster, last the previous one, which has ended.
	now, last records.Read[records.Pause]
	// asked is set by --paused.
	asked bool
}

// over returns the number of the last pause that is over.
func (f finding) over() int64 {
	if !f.last.Exists() {
		return 0
	}
	return f.last.Value.Number
}

// settled reports whether the pause for which this root is marked is over.
func (f finding) settled() bool { return f.known.Pause > 0 && f.over() >= f.known.Pause }

// reason returns why this start of the server pauses the cluster; empty if it doesn't. A store that is behind the
// progress in the root was restored from a backup: acting on it would start containers that already run. If a pause
// that the root doesn't know has ended, a person has handled that through another server.
func (f finding) reason() string {
	switch {
	case f.known.Restored && f.known.Pause == 0 && f.known.Backup != "":
		// by tend restore, also if the backup contains a pause
		return "restored from the backup of " + f.known.Backup
	case f.now.Exists():
		return ""
	case f.known.Restored && !f.settled() && f.known.Backup != "":
		return "restored from the backup of " + f.known.Backup
	case f.known.Restored && !f.settled():
		return "an older store was restored"
	case !f.known.Restored && f.revision < f.known.Revision && f.over() <= f.known.Pause:
		return fmt.Sprintf("the store is at revision %d and this cluster was at %d: an older store was restored",
			f.revision, f.known.Revision)
	case f.asked:
		return "the server was started with --paused"
	}
	return ""
}

// next returns the number of the pause that begins.
func (f finding) next() int64 {
	number := max(f.over(), f.known.Pause)
	if f.now.Exists() {
		number = max(number, f.now.Value.Number)
	}
	return number + 1
}

// checkRestored checks whether the cluster is paused, and pauses it if this start finds an older store. It does so
// before anything else is written, since this start's own writes could raise the store's revision so far that it no
// longer seems behind.
func (d *daemon) checkRestored(ctx context.Context) error {
	f, err := d.findRestored(ctx)
	if err != nil {
		return err
	}
	if reason := f.reason(); reason != "" {
		if f.now.Value, err = d.beginPause(ctx, f, reason); err != nil {
			return err
		}
	}
	d.lastPause = f.over()
	if !f.now.Exists() {
		d.pause = newStandstill("")
		return nil
	}
	d.pause = newStandstill(f.now.Value.Reason)
	d.Logger.WarnContext(ctx, "paused: nothing is changed until tend resume", "reason", f.now.Value.Reason)
	return nil
}

func (d *daemon) findRestored(ctx context.Context) (f finding, err error) {
	page, err := d.store.List(ctx, records.ClusterKey, store.ListOptions{Limit: 1})
	if err != nil {
		return f, fmt.Errorf("read the store's revision: %w", err)
	}
	f = finding{known: d.readProgress(), revision: page.Revision, asked: d.Paused}
	if f.now, err = readStored[records.Pause](ctx, d.store, records.PauseKey); err == nil {
		f.last, err = readStored[records.Pause](ctx, d.store, records.LastPauseKey)
	}
	if err != nil {
		return f, fmt.Errorf("read whether the cluster is paused: %w", err)
	}
	return f, nil
}

// beginPause pauses the cluster. The root is marked first: after a crash in between, the next start pauses it.
func (d *daemon) beginPause(ctx context.Context, f finding, reason string) (*records.Pause, error) {
	pause := records.Pause{Number: f.next(), Reason: reason, Server: d.Name, Since: d.Now().UTC()}
	err := d.writeProgress(progress{
		Revision: max(f.known.Revision, f.revision), Restored: true, Backup: f.known.Backup, Pause: pause.Number,
	})
	if err != nil {
		return nil, err
	}
	// A commit without an answer can't be applied once this pause has ended: its end changes the record of the last pause.
	_, err = records.NewTxn("pause.begin").If(records.PauseKey, f.now.Modified).If(records.LastPauseKey, f.last.Modified).
		Put(records.PauseKey, pause).Commit(ctx, d.store)
	if err != nil {
		return nil, fmt.Errorf("pause the cluster: %w", err)
	}
	return &pause, nil
}

// endPause ends the pause, with one commit for all servers.
func (d *daemon) endPause(ctx context.Context, term int64) error {
	pause := d.snapshot().Pause()
	if !pause.Exists() {
		return nil
	}
	revision, err := resumeTxn("resume.end", term).If(records.PauseKey, pause.Modified).Delete(records.PauseKey).
		Put(records.LastPauseKey, *pause.Value).Commit(ctx, d.store)
	if err != nil {
		return fmt.Errorf("end the pause: %w", err)
	}
	return d.view.WaitFor(ctx, revision)
}
