package rollout

import "time"

// The backoff before the place of a failed slot is filled again.
const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
)

// waits reports whether the place of a failed slot must still wait. A new release is tried at once.
func (p *planner) waits(failed *Slot) bool {
	return p.current(failed) && !p.passed(failed.EndedAt, p.backoff(failed))
}

// backoff returns twice the wait before the failed attempt. It is computed from the times of the dead tasks themselves,
// so it survives every restart. An attempt that ran for maxBackoff starts over.
func (p *planner) backoff(failed *Slot) time.Duration {
	before := p.tryBefore(failed)
	if before == nil || ranLong(failed) {
		return minBackoff
	}
	return min(max(2*failed.CreatedAt.Sub(before.EndedAt), 2*minBackoff), maxBackoff)
}

// ranLong reports whether a task lasted. No container ran for it before it was made, whatever its node says.
func ranLong(s *Slot) bool {
	return !s.RunningAt.IsZero() && s.EndedAt.Sub(s.RunningAt) >= maxBackoff && s.EndedAt.Sub(s.CreatedAt) >= maxBackoff
}

// tryBefore returns the failed attempt of the same version that preceded a slot in its place; nil if there is none.
func (p *planner) tryBefore(s *Slot) *Slot {
	if s.Replaces == "" {
		return nil
	}
	is := func(before *Slot) bool {
		return before != s && !before.EndedAt.IsZero() && before.failed() && before.Version == s.Version &&
			!before.EndedAt.After(s.CreatedAt)
	}
	var newest *Slot
	if before := p.byID[s.Replaces]; before != nil && is(before) {
		newest = before
	}
	for _, before := range p.tries[s.Replaces] { // newest first
		if is(before) {
			if newest == nil || before.EndedAt.After(newest.EndedAt) {
				newest = before
			}
			break
		}
	}
	return newest
}

// stale is the time for which a failure claims its place. Every wait is over by half of that, so an older failure is of
// a place that was not wanted since.
const stale = 2 * maxBackoff

// vacancies returns the open failures that left an empty place behind, at most as many as places are missing.
func (p *planner) vacancies(missing int) []*Slot {
	var out []*Slot
	for _, s := range p.open {
		if len(out) >= missing {
			break
		}
		if old := p.byID[s.Replaces]; old != nil && old.live() || p.passed(s.EndedAt, stale) {
			continue
		}
		out = append(out, s)
	}
	return out
}
