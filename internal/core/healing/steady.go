package healing

import "time"

// maxSkew is how far in the future a start may lie. Beyond it the clock was set back since, and the monitor time would
// last as long as the jump.
const maxSkew = time.Minute

// watchSteady sets Steady for a container that was created for a rollout without probes, once an inspection made after
// the monitor time finds the same incarnation running. An earlier inspection is no proof, however long ago it was: the
// engine may be late to report an end.
func (p *planner) watchSteady() {
	next, started := &p.out.Status, p.Container.StartedAt
	monitor := p.Task.Monitor.Or(0)
	if monitor <= 0 || next.Steady || p.heldLoop {
		return
	}
	due := started.Add(monitor)
	switch left := due.Sub(p.now); {
	case !p.InspectedAt.Before(due), started.Sub(p.now) > maxSkew:
		next.Steady = true
	case left > 0:
		p.recheckAfter(left)
	default:
		p.out.Inspect = true
	}
}
