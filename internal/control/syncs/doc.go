// Package syncs is the controller of syncs: it polls their sources and keeps what they hold applied.
//
// A watcher for each sync polls off the workers, at the sync's interval, less often while that fails. A poll that found
// something enqueues the sync, and the reconcile observes for itself: the last poll, the last apply, and whether the
// objects are still as that left them. internal/core/source decides from it. An apply, which may fetch and takes time, is
// made off the workers too (control/calls), through the verbs as the field manager sync:NAME; so it follows the rules of
// what users apply, and a field that a user owns is refused.
//
// Watchers and calls live as long as this server has the controllers. Nothing of a poll is stored; another server polls
// again, applies again, and so writes nothing that is there already. The package fetches nothing itself, and never
// deletes what the sync didn't create.
package syncs
