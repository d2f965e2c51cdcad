// Package engine turns an operation into the one object that carries it out, and what is known of that object into the
// operation's progress. Both are functions of values: they read no cluster, no clock and no environment.
//
// What an engine returns is created once and never edited. Its name is a function of the operation, so that a repeated
// create meets the object of the first one. An object of that name which carries no label of the operation belongs to
// something else, and is never adopted.
//
// The engine helm creates nothing. It observes the target's HelmRelease, which the controller of ApplicationInstance
// alone writes: that one takes the version and the values of an Upgrade into account (see operation.OverlayOf).
//
// Example:
//
//	made := engine.For(request.Operation.Spec.Engine)
//	object, err := made.Object(request)
//	…
//	progress := made.Observe(request, observed)
package engine
