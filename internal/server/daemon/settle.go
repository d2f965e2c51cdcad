package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// settleOps bounds one commit of settle.
const settleOps = 2000

// unknownRun is the message of a run whose outcome a restored store doesn't know.
const unknownRun = "unknown: restored from a backup; it may have run since. Next: "

// settle keeps a restored store from running anything again by itself. The outcome of a run since the backup is
// unknown, unless its container still runs here: such a run ends. Due times of cron jobs up to now are skipped, and
// commands of an unfinished rollout wait for a person. It may be repeated.
func (d *daemon) settle(ctx context.Context, term int64) error {
	running, err := d.runningTasks(ctx)
	if err != nil {
		return err
	}
	snap, now := d.snapshot(), d.Now().UTC()
	s := settlement{snap: snap, running: running, now: now, term: term, commit: d.settled}
	for record := range snap.Prefix(records.RunsPrefix) {
		if run, ok := record.Value.(*api.Run); ok && !run.State.Ended() && !s.goesOn(*run, running) {
			s.end(ctx, records.Read[api.Run]{Value: run, Modified: record.Modified})
		}
	}
	for _, kind := range api.Kinds {
		for object := range snap.Objects(kind) {
			s.stamp(ctx, object)
		}
	}
	s.flush(ctx, 0)
	return s.err
}

// runningTasks returns the tasks that have a running container on a connected node.
func (d *daemon) runningTasks(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for _, id := range d.fleet.Connected() {
		on, err := d.fleet.Node(id)
		if err != nil {
			return nil, err
		}
		listed, err := on.List(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the containers of %s: %w", id, err)
		}
		for _, container := range listed {
			if container.State == runtime.StateRunning && container.Labels[api.LabelInit] == "" {
				out[container.Task()] = true
			}
		}
	}
	for _, id := range d.absent(d.snapshot()) { // tend resume --keep
		for _, task := range d.snapshot().TasksOn(id) {
			if status := d.snapshot().TaskStatus(task.Value.ID); status.Exists() && !status.Value.StartedAt.IsZero() {
				out[task.Value.ID] = true
			}
		}
	}
	return out, nil
}

// settled commits a part of the settlement, and waits until the view shows it.
func (d *daemon) settled(ctx context.Context, txn *records.Txn) error {
	revision, err := txn.Commit(ctx, d.store)
	if err != nil {
		return fmt.Errorf("end what is unknown since the backup: %w", err)
	}
	return d.view.WaitFor(ctx, revision)
}

// settlement collects the writes of settle.
type settlement struct {
	snap records.Snapshot
	// running are the tasks that have a running container.
	running map[string]bool
	now     time.Time
	term    int64
	commit  func(context.Context, *records.Txn) error
	txn     *records.Txn
	ended   []string
	err     error
}

// goesOn reports whether the container of a run's last attempt runs.
func (s *settlement) goesOn(run api.Run, running map[string]bool) bool {
	return len(run.Attempts) > 0 && running[run.Attempts[len(run.Attempts)-1].Task]
}

// end ends a run, and keeps its tasks from starting.
func (s *settlement) end(ctx context.Context, read records.Read[api.Run]) {
	run := *read.Value
	run.State, run.Reason, run.FinishedAt = api.RunFailed, api.ReasonRestored, s.now
	run.Message = unknownRun + nextOf(run)
	key := records.RunKey(run.Owner(), run.ID)
	txn := s.begin(ctx)
	txn.If(key, read.Modified).Put(key, run)
	for _, task := range s.snap.TasksOf(run.Owner()) {
		if task.Value.Run == run.ID && task.Value.Desired == api.DesiredRunning {
			txn.RaiseTask(task, api.DesiredShutdown, api.ReasonRestored, s.now)
		}
	}
	s.ended = append(s.ended, run.Owner().String()+" "+run.ID)
}

// nextOf returns the command with which a user repeats a run.
func nextOf(run api.Run) string {
	if run.Trigger == api.TriggerRelease {
		return "tend restart " + run.Owner().String()
	}
	return "tend run " + run.Owner().String()
}

// stamp marks an object whose history since the backup is unknown.
func (s *settlement) stamp(ctx context.Context, read records.Read[api.Object]) {
	object := *read.Value
	value := ""
	switch {
	case object.Metadata.Deleting():
	case object.Kind == api.KindCronJob:
		value = s.now.Format(time.RFC3339)
	case object.Kind == api.KindLab:
		if s.unknownLab(object.Ref()) {
			value = object.RestoredLab(s.now)
			s.holdBack(ctx, object.Ref())
		}
	default:
		value = s.unknownRelease(read)
	}
	if value == "" || object.Metadata.Stamps[api.StampRestored] == value {
		return
	}
	object.Metadata.Stamps = object.Metadata.CopyStamps()
	object.Metadata.Stamps[api.StampRestored] = value
	key := records.ObjectKey(object.Ref())
	s.begin(ctx).If(key, read.Modified).Put(key, object)
}

// unknownLab reports whether a lab may have run, or ended, since the backup: it has not ended in the store, and doesn't
// run.
func (s *settlement) unknownLab(ref api.Ref) bool {
	if status := s.snap.LabStatus(ref); status.Exists() && status.Value.Phase.Ended() {
		return false
	}
	return !slices.ContainsFunc(s.snap.TasksOf(ref), func(t records.Read[api.Task]) bool { return s.running[t.Value.ID] })
}

// holdBack keeps the containers of a lab from starting that had not by the backup: they may have run since.
func (s *settlement) holdBack(ctx context.Context, lab api.Ref) {
	for _, task := range s.snap.TasksOf(lab) {
		status := s.snap.TaskStatus(task.Value.ID)
		if task.Value.Desired == api.DesiredRunning && (!status.Exists() || status.Value.StartedAt.IsZero()) {
			s.begin(ctx).RaiseTask(task, api.DesiredShutdown, api.ReasonRestored, s.now)
		}
	}
}

// unknownRelease returns the stamp of the last release of a workload whose commands may have run since; empty if the
// store shows that all have.
func (s *settlement) unknownRelease(read records.Read[api.Object]) string {
	spec, err := api.DecodeWorkload(read.Value.Kind, read.Value.Spec)
	if err != nil || spec.Steps() == nil || s.finished(read) {
		return ""
	}
	last := 0
	if status := s.snap.WorkloadStatus(read.Value.Ref()); status.Exists() {
		last = status.Value.LastReleaseNumber
	}
	releases := s.snap.Releases(read.Value.Ref())
	if n := len(releases); n > 0 && !releases[n-1].Value.CreatedAt.Before(read.Value.Metadata.UpdatedAt) {
		last = max(last, releases[n-1].Value.Number)
	} else {
		last++ // the release of the present spec was not made yet
	}
	return api.RestoredRelease{Number: last, Generation: read.Value.Metadata.Generation}.String()
}

// finished reports whether the store shows a rollout whose commands have all been run.
func (s *settlement) finished(read records.Read[api.Object]) bool {
	ref := read.Value.Ref()
	status := s.snap.WorkloadStatus(ref)
	if !status.Exists() || status.Value.ObservedRevision < read.Modified || status.Value.Rollout == nil ||
		status.Value.Rollout.Phase != api.RolloutComplete {
		return false
	}
	release := s.snap.Release(ref, status.Value.Rollout.TargetRelease)
	if !release.Exists() || release.Value.Steps == nil {
		return true
	}
	return !slices.ContainsFunc(release.Value.Steps.After, func(role api.TaskRole) bool {
		return !s.snap.Run(ref, release.Value.ID+"-"+string(role)).Exists()
	})
}

// begin returns the transaction to write to.
func (s *settlement) begin(ctx context.Context) *records.Txn {
	s.flush(ctx, settleOps)
	if s.txn == nil {
		s.txn = resumeTxn("resume.settle", s.term)
	}
	return s.txn
}

// flush commits the collected writes if there are more than most.
func (s *settlement) flush(ctx context.Context, most int) {
	if s.txn != nil && s.txn.Len() > most && s.err == nil {
		s.err = s.commit(ctx, s.txn)
		s.txn = nil
	}
}
