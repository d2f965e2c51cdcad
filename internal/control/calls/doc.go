// Package calls makes calls to the world outside for a controller, off its workers: to the receiver of a webhook, to a
// source of manifests. Begin starts a call in a goroutine of its own. When the call ends, its key is reconciled, and the
// controller finds the answer by Answer, records it, and forgets it. So nothing waits while it holds a worker.
//
// At most MaxPerHost calls go to one host at a time; what waits for its turn is reconciled when a call there ends. Calls
// are made only while Run runs, which is as long as this server has the controllers.
//
// It doesn't know what a call does, and repeats none.
package calls
