package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// labTime bounds the time that a lab takes, once all faults have ended, to begin when it is due and to be removed after
// its end.
const labTime = 5 * time.Minute

// labsEnd requires that due labs ran, and that nothing is left of those whose time is over. Then it deletes those that
// have not ended: they can't run, or their times are by a clock that was set.
func (w *World) labsEnd() {
	if !w.labWorld() || w.failed() {
		return
	}
	w.storyf("-- labs end")
	w.await(labTime+30*time.Minute, w.labsLeft)
	if left := w.labsLeft(); len(left) > 0 {
		w.fail("without faults, labs are left: %s", strings.Join(left, "; "))
		return
	}
	for _, ref := range w.labs.unended() {
		w.insistOn(ref, input{verb: "delete"}, w.deleting(ref))
	}
	w.await(labTime, w.labContainers)
	if left := w.labContainers(); len(left) > 0 {
		w.fail("%s after they were deleted, labs are left: %s", labTime, strings.Join(left, "; "))
	}
}

// insistOn calls a verb, and retries until it succeeds.
func (w *World) insistOn(ref api.Ref, in input, call func(ctx context.Context) error) {
	for range 20 {
		if w.askNow(ref, in, call) {
			return
		}
		w.pass(2 * time.Second)
	}
	w.fail("%s %s isn't done although nothing is wrong", in, ref)
}

// labsLeft returns the late labs: those that begin or end later than they should.
func (w *World) labsLeft() []string {
	alive := w.labsAlive()
	l := w.labs
	l.mu.Lock()
	lives := slices.SortedFunc(maps.Values(l.lives), func(a, b *labLife) int { return strings.Compare(a.uid, b.uid) })
	var out []string
	var idle []*labLife
	for _, life := range lives {
		name, there := alive[life.uid]
		switch {
		case there && life.gone:
			out = append(out, fmt.Sprintf("%s is left of %s, which was deleted", name, life.ref))
		case there && !life.ended.IsZero():
			out = append(out, fmt.Sprintf("%s is left of %s, which ended %s ago", name, life.ref, time.Since(life.ended)))
		case there && l.w.rightSince(life.made) && !life.started.IsZero():
			out = append(out, fmt.Sprintf("%s is there %s after it began, its whole time is %s", name,
				time.Since(life.started), life.whole()))
		case !there && !life.gone && !life.before && life.started.IsZero() && len(life.declared) > 0:
			idle = append(idle, life)
		}
	}
	l.mu.Unlock()
	for _, life := range idle {
		if late := w.lateToBegin(life); late != "" {
			out = append(out, late)
		}
	}
	return out
}

// lateToBegin: a due lab that can run has run, or Tend reports the reason.
func (w *World) lateToBegin(life *labLife) string {
	spec := life.declared[len(life.declared)-1].spec
	phase := w.phaseOf(life.ref)
	switch {
	case spec.StartsAt().After(w.now()), w.verdict(life.ref) == troubled, phase == api.LabFailed:
		return ""
	}
	return fmt.Sprintf("%s was to begin at %q, and has not (%s)", life.ref, spec.Start, phase)
}

// phaseOf returns the phase in which Tend reports a lab.
func (w *World) phaseOf(ref api.Ref) api.LabPhase {
	var status api.LabStatus
	decode(w.statusOf(ref).Status, &status)
	return status.Phase
}

// labsAlive are the containers there are of labs, whether they run or not, by the uid of the lab.
func (w *World) labsAlive() map[string]string {
	out := map[string]string{}
	for _, c := range w.ours() {
		if known, ok := w.archive.of(c.Task()); ok && known.task.Kind == api.KindLab {
			out[known.owner] = c.Name
		}
	}
	return out
}

// labContainers returns the remains of labs in the engine and in the store.
func (w *World) labContainers() []string {
	out := slices.Sorted(maps.Values(w.labsAlive()))
	for _, entry := range (&link{Store: w.store, w: w}).under(records.TasksPrefix) {
		var task api.Task
		if decode(entry.Value, &task); task.Kind == api.KindLab {
			out = append(out, entry.Key)
		}
	}
	return out
}

// unended are the labs that have not ended.
func (l *labs) unended() (out []api.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, life := range l.present() {
		if !life.phase.Ended() {
			out = append(out, life.ref)
		}
	}
	return out
}
