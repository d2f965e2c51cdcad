package rollout

import (
	"strconv"

	"tend.dev/tend/api"
)

// replaceLost replaces the slots whose node is lost, if another node would take the new one. The new one doesn't wait
// for the end of the old one: whether its container still runs is unknown, and may stay so. That is why only slots that
// are no identity are replaced so: a surplus container may run on the lost node until its agent answers again.
//
// A slot that waits for a container on a lost node to stop is replaced too, or it would wait as long.
func (p *planner) replaceLost() {
	for _, s := range p.live {
		if p.stopped[s.ID] || p.iced[s.ID] || !p.stranded(s) {
			continue
		}
		if failed := p.retry[s.ID]; failed != nil && p.waits(failed) {
			continue // its last successor failed: not before the backoff has passed
		}
		place, after := s.ID, ""
		if p.waiting(s) && !p.forsaken(s) {
			after = s.After // it never started, and what it waits for runs still
		}
		if old := p.byID[s.Replaces]; old != nil && p.successor[old.ID] == s && !p.stopped[old.ID] {
			if s.CrashLoop && p.desired.Strategy.OnFailure != api.OnFailureContinue {
				continue // it is a failure of its release, wherever it runs, and the one that it was to replace goes on
			}
			place = old.ID
		}
		p.stop(s, api.ReasonNodeLost)
		p.create(place, after, "the node of its predecessor is lost")
	}
}

// stranded reports whether nothing but a new slot in its place helps a slot, and there is a node for that.
func (p *planner) stranded(s *Slot) bool {
	return s.Lost && s.Elsewhere || p.forsaken(s)
}

// forsaken reports whether a slot waits for a container that may never answer, and needn't: the slots that follow that
// one run elsewhere, or this slot isn't among them.
func (p *planner) forsaken(s *Slot) bool {
	return p.waiting(s) && (p.abandoned(s.After) || s.Replaces == "" && !s.Lost && p.unstopped[s.After].Lost)
}

// abandoned reports whether a task may run on a lost node, and the slots that follow it run elsewhere. Nothing waits
// for its end.
func (p *planner) abandoned(task string) bool {
	s := p.unstopped[task]
	return s != nil && s.Lost && s.Elsewhere
}

// awaitedLost returns the lost slot to report: one that can't be replaced now, or else one that is about to be. A
// wanted ordinal that was stopped, or whose node is off, is awaited too: the next task of its place waits for its end.
func (p *planner) awaitedLost() *Slot {
	var first *Slot
	for _, list := range [][]*Slot{p.live, p.ended} {
		for _, s := range list {
			awaited := s.live() || p.wantedOrdinal(s)
			if s.live() && p.waiting(s) && p.unstopped[s.After].Lost {
				s = p.unstopped[s.After]
			}
			switch {
			case !s.Lost && !s.Away || !awaited:
			case !s.Elsewhere:
				return s
			case first == nil:
				first = s
			}
		}
	}
	return first
}

// wantedOrdinal reports whether a slot is an ordinal that is wanted.
func (p *planner) wantedOrdinal(s *Slot) bool {
	n, err := strconv.Atoi(s.ID)
	return p.desired.Ordered && err == nil && n < p.desired.Replicas && !p.frozen[s.ID]
}
