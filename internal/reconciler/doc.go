// Package reconciler runs reconcilers: it decides when a key is reconciled, never what is done about it.
//
// A Reconciler is given a Key and reads the state itself. The queue guarantees that a key has one worker at a time,
// that keys run in parallel, that failures are retried with backoff and rest afterwards, that nothing waits while it
// holds a worker, and that a key isn't reconciled before the view has caught up with what its last reconcile committed.
package reconciler
