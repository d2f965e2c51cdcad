package rollout

import (
	"time"

	"tend.dev/tend/api"
)

// current reports whether a slot has what its place should have: the target, on a node that may keep it.
func (p *planner) current(s *Slot) bool { return s.Version == p.desired.Target && !p.moves(s) }

// moves reports whether a slot goes to another node, as the strategy allows. Once a successor exists somewhere, whether
// yet another would find room says nothing.
func (p *planner) moves(s *Slot) bool {
	if s.Misplaced == "" {
		return false
	}
	next := p.successor[s.ID]
	return s.Elsewhere || next != nil && next.Misplaced == ""
}

// good reports whether a slot has proved itself: it is ready by its probe, if it has one, and it has been up for the
// monitor time without an exit. Every kind of workload counts a slot in this one way.
func (p *planner) good(s *Slot) bool { return s.serves() && p.steady(s) }

// settled reports whether the next slot may be touched: this one is good, or it has been up for the monitor time and
// the strategy doesn't wait for its probe. So a bad version never costs more than the slots that are replaced at once.
func (p *planner) settled(s *Slot) bool { return p.up(s) && p.steady(s) }

// up reports whether a slot is ready, or runs if the strategy doesn't wait for its probe. An ordinal comes up once
// those below are up: nothing is taken away for it, so nothing has to be proved.
func (p *planner) up(s *Slot) bool {
	if s.serves() {
		return true
	}
	return p.heedless() && s.State == api.TaskRunning && !s.CrashLoop && !s.Lost && !s.RunningAt.IsZero()
}

// upAt returns since when a slot is up.
func (p *planner) upAt(s *Slot) time.Time {
	if p.heedless() || s.ReadyAt.IsZero() {
		return s.RunningAt
	}
	return s.ReadyAt
}

// heedless reports whether the strategy doesn't wait for a slot to be ready.
func (p *planner) heedless() bool { return !p.desired.Strategy.WaitReady }

// steady reports whether the container was seen running after it had run for the monitor time. An earlier inspection,
// or the absence of events since, proves little: the event of its end may be late.
func (p *planner) steady(s *Slot) bool {
	if s.Monitored {
		return s.Steady
	}
	return p.passed(s.StartedAt, p.desired.Strategy.Monitor)
}

// failing reports whether the slot used up its chance. A lost one isn't late: what its node does says nothing about the
// target.
func (p *planner) failing(s *Slot) bool {
	switch {
	case s.CrashLoop:
		return true
	case s.Lost:
		return false
	}
	return p.late(s)
}

// late reports whether the slot was not ready for the whole deadline: since its creation, or since it was last ready,
// as long as its version was never good: the release, and the restart that made it. What was good once fails by
// CrashLoop or by ending alone: its pods that no longer answer say nothing about a rollout.
func (p *planner) late(s *Slot) bool {
	switch {
	case s.Ready:
		return false
	case s.ReadyAt.IsZero():
		return p.overdue(s.CreatedAt)
	case s.UnreadyAt.IsZero() || p.desired.Target == Version{p.desired.LastGood, p.desired.GoodRestart}:
		return false
	}
	return p.overdue(s.UnreadyAt)
}

// overdue reports whether the deadline has passed since a time, or since WatchedSince if that is later.
func (p *planner) overdue(from time.Time) bool {
	if since := p.desired.WatchedSince; since.After(from) && !p.ahead(since) {
		from = since
	}
	return p.passed(from, p.desired.Strategy.Deadline)
}

// maxSkew is the most that an observed time may lie in the future. Beyond it the clock was set back since, and a wait
// from there would last as long as the jump.
const maxSkew = time.Minute

// ahead reports whether an observed time lies so far in the future that the clock was set back since. If so, it records
// when it no longer will.
func (p *planner) ahead(t time.Time) bool {
	if t.Sub(p.now) <= maxSkew {
		return false
	}
	p.dueAt(t.Add(-maxSkew))
	return true
}

// passed reports whether d has passed since start. If not, it records when it will have.
func (p *planner) passed(start time.Time, d time.Duration) bool {
	at := start.Add(d)
	if !p.now.Before(at) || p.ahead(start) {
		return true
	}
	p.dueAt(at)
	return false
}

func (p *planner) dueAt(t time.Time) {
	if p.due.IsZero() || t.Before(p.due) {
		p.due = t
	}
}
