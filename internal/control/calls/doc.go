// Package calls makes calls to the outside for a controller, off its workers: to the receiver of a webhook, or to a
// source of manifests. Begin starts a call in its own goroutine. When the call ends, its key is reconciled; the
// controller reads the result with Answer, records it and forgets it. So nothing waits while it holds a worker.
//
// At most MaxPerHost calls go to one host at a time; a call that waits for its turn is reconciled when a call to
// that host ends. Calls are made only while Run runs, which is while this server has the controllers.
//
// The package doesn't know what a call does, and doesn't repeat any.
package calls
