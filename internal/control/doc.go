// Package control holds the Shell, which is the controller of a kind, and what the controllers share: the clock, the
// store they commit to, and the queue's keys.
//
// The kinds are in internal/kinds. A kind's step is a pure function: it observes (reads a snapshot), plans (calls
// internal/core) and returns everything to do as a Step. The Shell commits the step, checks in each pass whether it is
// empty, and shows it as the dry run:
//
//	controller := control.New(deps, ingress.Kind())
//
// A step that needs something from outside of the store returns it as a Call. The Shell makes it off the workers once
// the step is committed, and gives the answer to the next step. So a crash in between repeats the call, and no step
// waits. The scheduler is a controller, and not a kind.
//
// The folders below hold the verbs, the ledger of nodes and its scheduler, merged environments, and the calls to the
// world outside: sources of syncs, webhooks, messages to people.
//
// A kind makes no decision that a pure function of internal/core could make, and touches no container.
package control
