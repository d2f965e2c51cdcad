package nodeapi

import "time"

// Gather returns how long before the end of the timeout a node's heartbeat ends, so that the end of those of other nodes is
// seen before any is lost: one interval between heartbeats, and at most a third of the timeout.
func Gather(timeout, heartbeat time.Duration) time.Duration { return min(heartbeat, timeout/3) }
