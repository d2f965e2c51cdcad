package workload

import (
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/once"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// runWork is the work of one reconcile on the runs of releases' commands and their tasks.
type runWork struct {
	// changed are runs in their next state, each with the revision it was read at.
	changed []records.Read[api.Run]
	// stop are tasks to stop, remove tasks whose container is to be removed, forget tasks whose container is gone.
	stop, remove []records.Read[api.Task]
	forget       []owner.Task
	// drop are runs to delete: nothing of them is left.
	drop []records.Read[api.Run]
	// why is the reason for stopping a task of stop, by its id.
	why map[string]string
	// start is the command to start; nil if there is none.
	start *commandStart
	// after is the time until a run changes without an event; 0 means never.
	after time.Duration
}

// commandStart is a command of a release to start.
type commandStart struct {
	release *api.Release
	role    api.TaskRole
	// asked is the run that was requested by hand; its zero value means a step of the release.
	asked records.Read[api.Run]
}

// follow updates the runs from the status of their tasks, and returns the updated state.
func (o observed) follow(now time.Time) (observed, runWork) {
	work := runWork{}
	runs := slices.Clone(o.runs)
	for i, read := range runs {
		if read.Value.State == api.RunPending && o.release(read.Value.Release) != nil {
			continue // requested by hand, not started
		}
		task := o.runTask(*read.Value)
		var attempt *once.Attempt
		if task.Desired.Exists() {
			known := task.Attempt()
			attempt = &known
		}
		progress := gate.Follow(*read.Value, attempt, o.releaseTimeout(read.Value.Release), now)
		if progress.Changed {
			runs[i].Value = &progress.Run
			work.changed = append(work.changed, runs[i])
		}
		if progress.Stop != "" {
			work = work.halt(task.Desired, progress.Stop)
		}
		work.after = owner.Sooner(work.after, progress.After)
	}
	o.runs = runs
	return o, work
}

// runTask returns the task of a run's last attempt; its zero value if there is none.
func (o observed) runTask(run api.Run) owner.Task {
	if len(run.Attempts) == 0 {
		return owner.Task{}
	}
	for _, t := range o.runTasks {
		if t.Desired.Value.ID == run.Attempts[len(run.Attempts)-1].Task {
			return t
		}
	}
	return owner.Task{}
}

// next chooses the command that starts now: a release's step, else one that was requested by hand.
func (o observed) next(t target, phase api.RolloutPhase) *commandStart {
	if t.pending != nil && t.pending.gate.State == gate.Start {
		return &commandStart{release: t.pending.release, role: t.pending.gate.Start}
	}
	if after := o.afterwards(t, phase); after.State == gate.Start {
		return &commandStart{release: t.release, role: after.Start}
	}
	var asked *commandStart
	for _, run := range o.runs {
		switch {
		case run.Value.State.Ended():
		case run.Value.State != api.RunPending:
			return nil // one at a time
		case asked == nil:
			asked = &commandStart{release: o.release(run.Value.Release), role: api.RoleCommand, asked: run}
		}
	}
	return asked
}

// sweep removes what is left of the tasks that go: first their containers, then their records.
func (o observed) sweep(work runWork, goes func(api.Task) bool) runWork {
	for _, t := range o.runTasks {
		task := t.Desired.Value
		if !goes(*task) {
			continue
		}
		unheard := task.Node != "" && t.Status == nil // its agent may be making its container
		switch {
		case task.Desired == api.DesiredRunning && unheard:
			work = work.halt(t.Desired, "its release is no longer kept")
		case task.Desired == api.DesiredShutdown && unheard:
		case work.why[task.ID] != "": // it is stopped in this step already
		case task.Desired != api.DesiredRemoved:
			work.remove = append(work.remove, t.Desired)
		case t.Status == nil:
			work.forget = append(work.forget, t)
		}
	}
	return work
}

// halt stops a task, unless that is requested already.
func (w runWork) halt(task records.Read[api.Task], reason string) runWork {
	if _, asked := w.why[task.Value.ID]; asked {
		return w
	}
	if w.why == nil {
		w.why = map[string]string{}
	}
	w.stop, w.why[task.Value.ID] = append(w.stop, task), reason
	return w
}

// writeRuns writes the changes to runs.
func (s *writes) writeRuns(work runWork) {
	for _, run := range work.changed {
		key := records.RunKey(s.o.ref, run.Value.ID)
		s.txn.If(key, run.Modified).Put(key, run.Value)
	}
	for _, task := range work.stop {
		s.txn.RaiseTask(task, api.DesiredShutdown, work.why[task.Value.ID], s.at.Now)
	}
	for _, task := range work.remove {
		s.txn.RaiseTask(task, api.DesiredRemoved, "its release is no longer kept", s.at.Now)
	}
	for _, task := range work.forget {
		owner.Forget(s.txn, task)
	}
	for _, run := range work.drop {
		key := records.RunKey(s.o.ref, run.Value.ID)
		s.txn.If(key, run.Modified).Delete(key)
	}
	if work.start != nil {
		s.startCommand(*work.start)
	}
}

// startCommand records the run and creates its task in one commit, on the condition that neither exists: a command of a
// release is started once, whatever crashes.
func (s *writes) startCommand(start commandStart) {
	ref := s.o.ref
	run := api.Run{
		ID: runID(start.release.ID, start.role), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
		Trigger: api.TriggerRelease, Release: start.release.ID, CreatedAt: s.at.Now,
	}
	if start.asked.Exists() {
		run = *start.asked.Value
		run.CreatedAt = s.at.Now
	}
	key := records.RunKey(ref, run.ID)
	run, task := owner.Begin(run, api.Task{
		ID: s.at.NewTask(), OwnerUID: s.o.uid(), Slot: run.ID, Release: start.release.ID, Role: start.role,
	}, s.at.Now)
	s.txn.If(key, start.asked.Modified).Put(key, run).CreateTask(task)
}
