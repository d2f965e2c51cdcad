package daemon

import (
	"context"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// BackupOptions configure the scheduled backups. The zero value means none.
type BackupOptions struct {
	// Schedule is a cron expression in UTC; empty for none.
	Schedule string
	// To is the folder they are written to, or Command the shell command that reads each from its standard input.
	To      string
	Command string
	// Keep is the number of files of this cluster that stay in To. Default 7.
	Keep int
	// Recipients can decrypt the backups; Unencrypted leaves them in plain text.
	Recipients  secret.Recipients
	Unencrypted bool
}

const (
	// backupRetry is the time between a failed backup and the next attempt, if no due time comes before.
	backupRetry = 15 * time.Minute
	// backupLook is the longest interval between two checks of the schedule: the clock may jump.
	backupLook = time.Minute
)

// nextBackup returns the time at which a backup is due, given the result of the last one. However many due times were
// missed, one backup is due. The first one is due at once: it shows whether the configuration works.
func nextBackup(schedule *timetable.Schedule, last *api.BackupRecord, now time.Time) (time.Time, bool) {
	if last == nil || last.At.After(now.Add(backupLook)) { // no backup yet, or one in the future by a clock that was ahead
		return now, true
	}
	due, ok := schedule.Next(last.At)
	// One that lacks files was stored: the next would lack them too.
	again, failed := last.At.Add(backupRetry), last.Error != "" && last.Missing == 0
	if failed && (!ok || again.Before(due)) {
		return again, true
	}
	return due, ok
}

// keepBackups takes the scheduled backups until ctx ends. It runs during a term of this server.
func (d *daemon) keepBackups(ctx context.Context, term *controlplane.Term) {
	if d.Backups.Schedule == "" {
		return
	}
	select {
	case <-d.view.Synced(): // until then the time of the last backup isn't known
	case <-ctx.Done():
		return
	}
	schedule, err := timetable.Parse(d.Backups.Schedule, "")
	if err != nil {
		d.Logger.ErrorContext(ctx, "no backups are taken: their schedule can't be read", "schedule",
			d.Backups.Schedule, "error", err)
		return
	}
	if last := d.snapshot().Backup(); last.Exists() {
		d.backups.metrics.show(*last.Value)
	}
	for {
		wait := backupLook
		now := d.Now()
		if due, ok := nextBackup(schedule, d.snapshot().Backup().Value, now); ok {
			wait = min(wait, due.Sub(now))
		}
		if wait <= 0 {
			d.scheduledBackup(ctx, term)
			wait = time.Second
		}
		if delay.For(ctx, wait) != nil {
			return
		}
	}
}

// scheduledBackup takes one backup and records the result.
func (d *daemon) scheduledBackup(ctx context.Context, term *controlplane.Term) {
	last := api.BackupRecord{}
	if known := d.snapshot().Backup(); known.Exists() {
		last = *known.Value
	}
	began := d.Now().UTC()
	made, err := d.storeBackup(ctx, began)
	if ctx.Err() != nil {
		return // the server ends: the next one makes up for it
	}
	last.At, last.Took, last.Error, last.Missing = began, d.Now().Sub(began).Seconds(), "", 0
	switch {
	case err != nil:
		last.Error = err.Error()
		d.Logger.ErrorContext(ctx, "the scheduled backup failed", "error", err, "next_try", backupRetry)
	case len(made.missing) > 0:
		last.Error, last.Missing = lacks(made), len(made.missing)
		d.Logger.ErrorContext(ctx, "the scheduled backup lacks files", "file", made.name, "count", last.Missing)
	default:
		last.Succeeded, last.Name, last.Size, last.Revision = began, made.name, made.size, made.revision
		d.Logger.InfoContext(ctx, "backup taken", "file", made.name, "bytes", made.size, "revision", made.revision)
	}
	d.backups.metrics.count(last)
	for ctx.Err() == nil {
		revision, err := records.NewTxn("backup.record").Put(records.BackupKey, last).Commit(ctx, term)
		if err == nil {
			_ = d.view.WaitFor(ctx, revision)
			return
		}
		d.Logger.WarnContext(ctx, "the result of the backup could not be recorded; retrying", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(backupLook):
		}
	}
}

// lacks returns the error of a backup that was stored without all files.
func lacks(made storedBackup) string {
	files := "file " + made.missing[0]
	if more := len(made.missing) - 1; more > 0 {
		files += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("it was stored without %s, which no server has any more: apply again what uses it (%s)", files,
		made.name)
}

// backupStatus answers GET /v1/backup.
func (d *daemon) backupStatus() api.BackupStatus {
	o := d.Backups
	out := api.BackupStatus{Schedule: o.Schedule, To: o.To, Last: d.snapshot().Backup().Value}
	if o.Command != "" {
		out.To = "command: " + o.Command
	} else if o.To != "" {
		out.Keep = o.Keep
	}
	if d.backups.taking.TryLock() {
		d.backups.taking.Unlock()
	} else {
		out.Running = true
	}
	if schedule, err := timetable.Parse(o.Schedule, ""); o.Schedule != "" && err == nil {
		out.Next, _ = nextBackup(schedule, out.Last, d.Now())
	}
	return out
}
