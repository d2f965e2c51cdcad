package probe

import (
	"time"

	"tend.dev/tend/api"
)

// Next returns when to call Due; false if only answers are awaited, or no probe runs.
func (m *Machine) Next(now time.Time) (at time.Time, ok bool) {
	for _, one := range m.probes {
		if one.away || m.silent(one) {
			continue
		}
		if next := one.next(now); !ok || next.Before(at) {
			at, ok = next, true
		}
	}
	return at, ok
}

// Due returns the attempts to begin now. Each is under way until Answer is called for it.
func (m *Machine) Due(now time.Time) []Ask {
	var out []Ask
	for _, one := range m.probes {
		if one.away || m.silent(one) {
			continue
		}
		next := one.next(now)
		if next.After(now) {
			continue
		}
		one.made(next)
		out = append(out, Ask{Kind: one.kind, Probe: one.probe, Timeout: one.rule.timeout})
	}
	return out
}

// silent reports whether the probe doesn't run in this state.
func (m *Machine) silent(a *asked) bool {
	startup := m.probes[0]
	if startup.kind != Startup {
		return false
	}
	passed := startup.status.Phase == api.ProbeHealthy
	return passed == (a.kind == Startup)
}

// earliest is the least part of a period that passes before the second attempt: an immediate repeat gives no new
// information.
const earliest = 0.05

// within returns the probe's point in its period, after a part of it that is left free.
func (a *asked) within(free float64) time.Duration {
	return time.Duration((free + (1-free)*a.spread) * float64(a.rule.period))
}

// The intervals between the attempts of a readiness or startup probe until it has passed: firstGap, then half as long
// again each time, up to its period.
const firstGap = 100 * time.Millisecond

// next returns when a probe runs next. The time stays the same until then, unless it is long past.
func (a *asked) next(now time.Time) time.Time {
	switch {
	case a.asks == 0:
		if now.Sub(a.begin) < a.rule.period {
			return a.begin
		}
		a.begin = now.Add(a.within(0)) // it has run for long: the agent is new, or was delayed
		return a.begin
	case a.eager:
		next := a.last.Add(min(a.gap, a.rule.period))
		if counts := a.counted.Add(a.rule.period); counts.After(a.last) && counts.Before(next) {
			return counts
		}
		return next
	case !a.placed:
		return a.kept(a.last.Add(a.within(earliest)), now)
	}
	return a.kept(a.last.Add(a.rule.period), now)
}

// made records that an attempt begins, which was due at a time.
func (a *asked) made(due time.Time) {
	a.away, a.early = true, a.asks > 0 && due.Before(a.counted.Add(a.rule.period))
	if !a.early {
		a.counted = due
	}
	switch {
	case a.asks == 0:
	case a.eager:
		a.gap = min(a.gap+a.gap/2, a.rule.period)
	default:
		a.placed = true
	}
	a.last = due
	a.asks++
}

// kept skips the attempts that were missed by whole periods.
func (a *asked) kept(at, now time.Time) time.Time {
	if late := now.Sub(at); late >= a.rule.period {
		return at.Add(late.Truncate(a.rule.period))
	}
	return at
}
