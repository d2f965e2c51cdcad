// Package eventlog is the log of events in the store: every change of an object or a status, written in the commit that
// makes the change, and the audit of calls.
//
// A Recorder stands before the store and adds the events of a commit to it. A Log reads them: Next returns those after
// a position, in the order of the commits, and waits for the next ones. Trim deletes the oldest.
//
//	events, position, err := log.Next(ctx, position, 100)
//
// An entry's key says roughly when it was written, because a commit doesn't know its revision; its place in the log is
// the revision at which it was created. So an entry of a commit without an answer, which is applied late, has the place
// of that late commit, and no reader passes it. A Log keeps 40 bytes in memory for each entry, and the newest entries
// whole.
//
// The package never decides what an event says (package core/change does), and never sends one anywhere.
package eventlog
