// Package sink is the controller of sinks: what is in the log of events is sent to receivers outside.
//
// Each sink has a goroutine of its own, its pump, that reads the log in order, sends, and tries again. So a receiver that
// doesn't answer holds up no worker, no rollout and no other sink. The log is the queue: nothing is kept in memory but what
// is being sent. What is left of a sink is its progress, which a reconcile writes about once a second.
//
// Sending is at least once: after a crash, what was sent since the last write is sent again, with the same ids. Only the
// server that leads sends. internal/core/sink says what is sent and what an answer means, internal/core/notify when people get
// a message; sockets are behind Effects.
package sink
