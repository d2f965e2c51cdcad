// Package sink is the controller of sinks, which send the event log to receivers outside.
//
// Each sink has a goroutine of its own, its pump, which reads the log in order, sends and retries. So a receiver that
// doesn't answer blocks no worker, no rollout and no other sink. The log is the queue: only events that are being sent
// are in memory. The only stored state of a sink is its progress, which a reconcile writes about once a second.
//
// Events are sent at least once: after a crash, those sent since the last write are sent again with the same ids. Only
// the leading server sends. internal/core/sink decides what is sent and what an answer means, internal/core/notify when
// people get a message. Effects hides the sockets.
package sink
