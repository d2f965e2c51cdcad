package nodeapi

import "time"

// Gather returns how long before the end of the timeout a node's heartbeat ends, so that the end of those of other
// nodes is seen before any is lost: one interval between heartbeats, and at most a third of the timeout.
func Gather(timeout, heartbeat time.Duration) time.Duration { return min(heartbeat, timeout/3) }

// Leaser is a Control that knows how long the server lets a heartbeat last: 0 until it has said so. The node then sends
// one often enough, whatever its own flags say.
type Leaser interface {
	Lease() time.Duration
}

// Beats is the least number of heartbeats that a node sends while one lasts: two may be lost.
const Beats = 3
