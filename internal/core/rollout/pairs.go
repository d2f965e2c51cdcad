package rollout

import "tend.dev/tend/api"

// endPairs finishes start-first replacements. It stops the successor if that is itself outdated or needless, unless it
// is the half that serves. It stops the old slot when its successor is settled, and earlier if nothing is lost by it,
// or if the slot itself is lost.
func (p *planner) endPairs() {
	for _, old := range p.live {
		next := p.successor[old.ID]
		if next == nil || p.stopped[old.ID] || p.stopped[next.ID] {
			continue
		}
		switch wanted := p.current(next) && !p.current(old); {
		case old.Lost && !next.Lost && p.current(next):
			if old.Elsewhere || p.settled(next) {
				p.stop(old, api.ReasonNodeLost)
			}
		case !wanted && next.serves() && !old.serves():
			p.stop(old, "its successor serves in its place")
		case !wanted && p.current(old):
			p.stop(next, "no longer needed")
		case !wanted:
			p.stop(next, p.superseded(next))
		case p.settled(next):
			p.stop(old, "replaced by its successor")
		case old.broken():
			p.stop(old, "outdated and not running")
		case next.Crowded:
			p.stop(old, "no room for its successor beside it")
		}
	}
}

// superseded returns why a successor that is not current itself is stopped.
func (p *planner) superseded(next *Slot) string {
	if next.Version == p.desired.Target {
		return next.Misplaced
	}
	return "superseded by " + p.desired.Target.Release
}
