package healing

import "time"

// maxSkew is the most that a start may lie in the future. Beyond it the clock was set back since, and the monitor time
// would last as long as the jump.
const maxSkew = time.Minute

// watchSteady sets Steady for a container of a rollout, ready or not, once an inspection made after the monitor time
// finds the same incarnation running. An earlier inspection proves nothing, however long ago it was: the engine may be
// late to report an end. A container that exited lately must run for longer than its exits were apart.
func (p *planner) watchSteady() {
	next, started := &p.out.Status, p.Container.StartedAt
	monitor := p.Task.Monitor.Or(0)
	if monitor <= 0 || next.Steady || p.heldLoop {
		return
	}
	due := started.Add(max(monitor, outlives(*next)))
	switch left := due.Sub(p.now); {
	case !p.InspectedAt.Before(due), started.Sub(p.now) > maxSkew:
		next.Steady = true
	case left > 0:
		p.recheckAfter(left)
	default:
		p.out.Inspect = true
	}
}

// incarnation reports whether the container that is observed is the one, and the start of it, that the status is about.
func (p *planner) incarnation() bool {
	return p.Container.ID == p.Status.Container && p.Container.StartedAt.Equal(p.Status.StartedAt)
}
