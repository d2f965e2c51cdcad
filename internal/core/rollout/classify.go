package rollout

import (
	"time"

	"tend.dev/tend/api"
)

func (p *picture) current(s *Slot) bool { return s.Version == p.desired.Target }

// settled: the next slot may be touched. Where readiness is probed and not waited for, running is enough.
func (p *picture) settled(s *Slot) bool {
	if s.serves() {
		return true
	}
	return p.heedless() && s.State == api.TaskRunning && !s.CrashLoop && !s.RunningAt.IsZero()
}

// settledAt is when a settled slot settled.
func (p *picture) settledAt(s *Slot) time.Time {
	if p.heedless() || s.ReadyAt.IsZero() {
		return s.RunningAt
	}
	return s.ReadyAt
}

// heedless: there are probes, and the strategy does not wait for them.
func (p *picture) heedless() bool { return p.desired.Probed && !p.desired.Strategy.WaitReady }

// good: the slot has proved itself. It is ready where that is probed, else it ran for the monitor time without an exit.
func (p *picture) good(s *Slot) bool {
	return s.serves() && (p.desired.Probed || p.steady(s))
}

// steady: the container was seen running when it had run for the monitor time. That it was seen running before, and that
// nothing was told since, says little: word of its end may be late.
func (p *picture) steady(s *Slot) bool {
	if s.Monitored {
		return s.Steady
	}
	return p.passed(s.StartedAt, p.desired.Strategy.Monitor)
}

// failing: the slot used up its chance. One that was ready before and stops being so fails by CrashLoop or by ending.
func (p *picture) failing(s *Slot) bool {
	if s.CrashLoop {
		return true
	}
	late := !s.Ready && s.ReadyAt.IsZero()
	return late && p.overdue(s)
}

// overdue: the deadline of a slot has passed. It counts from when somebody could have seen it keep it.
func (p *picture) overdue(s *Slot) bool {
	from := s.CreatedAt
	if since := p.desired.WatchedSince; since.After(from) && !p.ahead(since) {
		from = since
	}
	return p.passed(from, p.desired.Strategy.Deadline)
}

// maxSkew is how far in the future an observed time may lie. Beyond it the clock was set back since, and a wait from
// there would last as long as the jump.
const maxSkew = time.Minute

// ahead reports whether an observed time lies so far in the future that the clock was set back since.
func (p *picture) ahead(t time.Time) bool { return t.Sub(p.now) > maxSkew }

// passed says whether d has passed since start, and if not remembers when it will have.
func (p *picture) passed(start time.Time, d time.Duration) bool {
	at := start.Add(d)
	if !p.now.Before(at) || p.ahead(start) {
		return true
	}
	if p.due.IsZero() || at.Before(p.due) {
		p.due = at
	}
	return false
}
