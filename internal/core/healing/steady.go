package healing

import "time"

// maxSkew is how far in the future a start may lie. Beyond it the clock was set back since, and the monitor time would
// last as long as the jump.
const maxSkew = time.Minute

// watchSteady: a container that was made for a rollout without probes has proved itself when a look, made after it ran for
// the monitor time, finds the same incarnation running. What was seen before is no proof, however long ago: the engine may
// be late to tell of an end.
func (p *planner) watchSteady() {
	next, started := &p.out.Status, p.Container.StartedAt
	monitor := p.Task.Monitor.Or(0)
	if monitor <= 0 || next.Steady || p.heldLoop {
		return
	}
	due := started.Add(monitor)
	switch left := due.Sub(p.now); {
	case !p.LookedAt.Before(due), started.Sub(p.now) > maxSkew:
		next.Steady = true
	case left > 0:
		p.lookAfter(left)
	default:
		p.out.Look = true
	}
}
