// Package sink is the kind of sinks, which send the event log to receivers outside.
//
// The step of a sink asks for one call that lasts: it reads the log in order, sends and retries. So a receiver that
// doesn't answer blocks no worker, no rollout and no other sink. The log is the queue: only events that are being sent
// are in memory. After each change the call says how far it is; the step stores that about once a second and writes the
// status from it.
//
// Events are sent at least once: after a crash, those sent since the last write are sent again with the same ids. Only
// the leading server sends. internal/core/sink decides what is sent and what an answer means, internal/core/notify when
// people get a message. Effects hides the sockets.
//
// The webhooks of a workload are no sinks with a filter. A sink sends in order, so an event that its receiver doesn't
// take delays the next ones for as long as retry_for; the calls of webhooks wait for no other, each has a record of its
// own that `tend describe` shows, and they are given up after seconds. Package delivery has them.
package sink
