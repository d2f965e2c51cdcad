// Package syncs is the controller of syncs: it polls their sources and keeps the contents applied.
//
// A watcher for each sync polls off the workers, at the sync's interval, and less often while polls fail. A poll that
// found something enqueues the sync. The reconcile then observes the last poll, the last apply, and whether the objects
// still are as that apply left them, and internal/core/source decides. An apply may fetch and take time, so it is made
// off the workers too (control/calls). It uses the verbs, as the field manager sync:NAME, so it follows the rules for
// users' applies, and a field that a user owns is refused.
//
// Watchers and calls live while this server has the controllers. Polls are not stored: another server polls and applies
// again, which writes nothing if everything is in place. The package fetches nothing itself, and never deletes an
// object that the sync didn't create.
package syncs
