// Package engine turns an operation into the single object that carries it out, and the state of that object into the
// operation's progress. Both are pure functions: they read no cluster, clock or environment.
//
// An engine's object is created once and never edited. Its name is a function of the operation, so that a repeated
// create meets the first object. An object with that name but without a label of the operation belongs to something
// else, and is never adopted.
//
// The engine helm creates nothing. It observes the target's HelmRelease, which only the controller of
// ApplicationInstance writes, including the version and values of an Upgrade (see operation.OverlayOf).
//
// Example:
//
//	made := engine.For(request.Operation.Spec.Engine)
//	object, err := made.Object(request)
//	…
//	progress := made.Observe(request, observed)
package engine
