// Package control holds the Shell, which is the controller of a kind, and what the controllers share: the clock, the
// store they commit to, and the engine's keys.
//
// The kinds lie in the folders below. The step of a kind is a pure function: it observes (reads a snapshot), plans (asks internal/core) and
// returns everything that is to be done as a Step. The Shell commits the step, asks in each pass whether it is empty, and
// shows it as the dry run:
//
//	controller := control.New(deps, ingress.Kind())
//
// What isn't a kind (the scheduler, the autoscaler), or works outside of the store (syncs, webhooks, the
// pumps of sinks), is a Controller of its own.
//
// A kind makes no decision that a pure function of internal/core could make, and touches no container.
package control
