package rollout

import (
	"cmp"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// picture is the observed slots sorted into what the rules speak of.
type picture struct {
	desired Desired
	now     time.Time
	byID    map[string]Slot
	live    []Slot // wanted and not ended, oldest first
	ended   []Slot // wanted no more, or ended; newest first
	// successor maps a live slot to the live one that is to take over from it.
	successor map[string]Slot
	due       time.Time // the earliest instant at which time alone changes the plan
}

func observe(desired Desired, slots []Slot, now time.Time) *picture {
	p := &picture{
		desired: desired, now: now,
		byID: make(map[string]Slot, len(slots)), successor: map[string]Slot{},
	}
	sorted := slices.Clone(slots)
	slices.SortFunc(sorted, func(a, b Slot) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range sorted {
		p.byID[s.ID] = s
		if s.live() {
			p.live = append(p.live, s)
		} else {
			p.ended = append(p.ended, s)
		}
	}
	for _, s := range p.live {
		if old, ok := p.byID[s.Replaces]; ok && old.live() {
			p.successor[old.ID] = s
		}
	}
	slices.SortStableFunc(p.ended, func(a, b Slot) int { return b.EndedAt.Compare(a.EndedAt) })
	return p
}

func (p *picture) current(s Slot) bool { return s.Version == p.desired.Target }

// settled: the next slot may be touched.
func (p *picture) settled(s Slot) bool {
	if s.State != api.TaskRunning || s.CrashLoop {
		return false
	}
	return s.Ready || !p.desired.Strategy.WaitReady && !s.RunningAt.IsZero()
}

// settledAt is when a settled slot settled.
func (p *picture) settledAt(s Slot) time.Time {
	if p.desired.Strategy.WaitReady && !s.ReadyAt.IsZero() {
		return s.ReadyAt
	}
	return s.RunningAt
}

// good: the slot has proved itself: ready where readiness is asked, else running for the monitor time without an exit.
func (p *picture) good(s Slot) bool {
	if !p.settled(s) || !s.Ready {
		return false
	}
	return p.passed(s.StartedAt, p.desired.Strategy.Monitor)
}

// failing: the slot used up its chance. A slot that was good once and crashes later fails by CrashLoop or by ending.
func (p *picture) failing(s Slot) bool {
	if s.CrashLoop {
		return true
	}
	late := s.RunningAt.IsZero() || p.desired.Strategy.WaitReady && s.ReadyAt.IsZero()
	return s.live() && late && p.passed(s.CreatedAt, p.desired.Strategy.Deadline)
}

// broken: the slot serves nobody, so that replacing it takes nothing away.
func (p *picture) broken(s Slot) bool {
	return s.State != api.TaskRunning || s.CrashLoop || s.RunningAt.IsZero()
}

// passed says whether d has passed since start, and if not remembers when it will have.
func (p *picture) passed(start time.Time, d time.Duration) bool {
	at := start.Add(d)
	if !p.now.Before(at) {
		return true
	}
	p.wake(at)
	return false
}

func (p *picture) wake(at time.Time) {
	if p.due.IsZero() || at.Before(p.due) {
		p.due = at
	}
}

// openFailures are ended slots that failed with nobody created after them in their place, newest first.
func (p *picture) openFailures() []Slot {
	retried := map[string]time.Time{} // slot → when the newest attempt to succeed it was made
	for _, s := range p.byID {
		if s.Replaces != "" && s.CreatedAt.After(retried[s.Replaces]) {
			retried[s.Replaces] = s.CreatedAt
		}
	}
	var out []Slot
	for _, s := range p.ended {
		_, replaced := retried[s.ID]
		attempted := s.Replaces != "" && retried[s.Replaces].After(s.CreatedAt)
		if s.failed() && !replaced && !attempted && !p.desired.Frozen[s.ID] {
			out = append(out, s)
		}
	}
	return out
}

// vacancies are the open failures that left an empty place behind, at most as many as places are missing.
func (p *picture) vacancies(missing int) []Slot {
	var out []Slot
	for _, s := range p.openFailures() {
		if old, known := p.byID[s.Replaces]; len(out) < missing && !(known && old.live()) {
			out = append(out, s)
		}
	}
	return out
}

// failedSuccessor is the last attempt to succeed a live slot, where it failed under the present target.
func (p *picture) failedSuccessor(old Slot) (Slot, bool) {
	for _, s := range p.openFailures() {
		if s.Replaces == old.ID && p.current(s) {
			return s, true
		}
	}
	return Slot{}, false
}

// attemptBefore is the failed attempt of the same version that a slot was created after, for the same place.
func (p *picture) attemptBefore(s Slot) (Slot, bool) {
	for _, before := range p.ended { // newest first
		same := before.ID == s.Replaces || before.Replaces == s.Replaces && s.Replaces != ""
		if same && before.ID != s.ID && before.failed() && before.Version == s.Version && !before.EndedAt.After(s.CreatedAt) {
			return before, true
		}
	}
	return Slot{}, false
}

// The backoff before a failed slot is filled anew.
const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
)

// retryAt is when the place of a failed slot may be filled again: twice the wait before the failed attempt, taken from
// the times of the dead tasks themselves, so that it survives every restart. An attempt that ran longer than maxBackoff
// starts over.
func (p *picture) retryAt(failed Slot) time.Time {
	wait := minBackoff
	ranLong := !failed.RunningAt.IsZero() && failed.EndedAt.Sub(failed.RunningAt) > maxBackoff
	if before, ok := p.attemptBefore(failed); ok && !ranLong {
		wait = min(max(2*failed.CreatedAt.Sub(before.EndedAt), 2*minBackoff), maxBackoff)
	}
	return failed.EndedAt.Add(wait)
}

// waits says whether the place of a failed slot must still wait for its backoff.
func (p *picture) waits(failed Slot) bool {
	if !p.current(failed) {
		return false // a new release deserves a try at once
	}
	at := p.retryAt(failed)
	if p.now.Before(at) {
		p.wake(at)
		return true
	}
	return false
}
