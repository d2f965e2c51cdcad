// Package notify decides when people get a message about failures, and what it says.
//
// A cause is an object and the reason of its failure. Observe takes a failure, a recovery or a deletion into the causes
// that are known; Next returns the message to send now, and Due when to ask again; Sent takes what was sent into the
// causes.
//
//	causes = notify.Observe(causes, settings, signal)
//	if message, ok := notify.Next(causes, settings, now); ok {
//		send(message)
//		causes = notify.Sent(causes, message, now)
//	}
//
// One cause gets one message until it is resolved or Repeat passed, and never two within Quiet. A failure is always
// part of a message, if only as one of those that were counted: what recovered before the message is sent is named in
// it all the same. All that waits at one time makes one message, so a storm makes one.
//
// The package sends nothing and has no clock.
package notify
