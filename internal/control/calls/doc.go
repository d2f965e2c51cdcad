// Package calls makes the calls of steps, off the workers of the controllers: to the receiver of a webhook, or to a
// source of manifests. Begin starts a call in its own goroutine. When the call ends, its key is reconciled, and its
// answer is in the State of the key until Forget. So nothing waits while it holds a worker.
//
// At most MaxPerHost calls of a kind go to one host at a time; a call that waits for its turn is reconciled when a call
// to that host ends. Calls are made only while Run runs, which is while this server has the controllers. A call without
// a limit, such as the polls of a source, lasts until Cancel.
//
// The package doesn't know what a call does, and doesn't repeat any.
package calls
