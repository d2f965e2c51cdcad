package rollout

import "time"

// monitor returns how long a new slot is watched before it counts as steady: for the strategy's monitor time, and if
// attempts of the same release kept dying in its place, for longer than they lasted. Otherwise a program that dies
// later than the monitor time would look good between any two of its deaths.
func (p *planner) monitor(place string) time.Duration {
	if failed := p.lastTry(place); failed != nil {
		return p.outlive(failed, p.tryBefore(failed) != nil)
	}
	return p.outlive(p.byID[place], false)
}

// monitorAfter is monitor for an ordinal, whose last task is the only one known.
func (o *ordered) monitorAfter(before *Slot) time.Duration {
	return o.outlive(before, before != nil && before.failed() && before.Attempt > 1)
}

// lastTry returns the newest failed attempt of the target in a place that is about to be filled; nil if there is none.
func (p *planner) lastTry(place string) *Slot {
	var newest *Slot
	if before := p.byID[place]; before != nil && before.failed() && before.Version == p.desired.Target {
		newest = before
	}
	for _, s := range p.tries[place] { // newest first
		if s.Version != p.desired.Target {
			continue
		}
		if newest == nil || s.EndedAt.After(newest.EndedAt) {
			newest = s
		}
		break
	}
	return newest
}

// outlive returns the time after which a new slot has outlived the one before. That one's whole life counts if it was
// not the first to fail; else only how far apart its container's ends were, since any program may end once.
func (p *planner) outlive(before *Slot, again bool) time.Duration {
	monitor := p.desired.Strategy.Monitor
	if before == nil || before.Version.Release != p.desired.Target.Release || before.failed() && ranLong(before) {
		return monitor
	}
	lasted := before.Apart
	if again && !before.RunningAt.IsZero() {
		lasted = max(lasted, min(before.EndedAt.Sub(before.RunningAt), before.EndedAt.Sub(before.CreatedAt)))
	}
	return max(monitor, min(lasted+lasted/4, maxBackoff))
}
