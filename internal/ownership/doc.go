// Package ownership decides who owns which field of a spec, and what an object becomes when one of them speaks.
//
// A manager is a role: `apply` is people's, an autoscaler or a sync has its own. What a manager declares it owns, until
// it leaves it out again: then the field is released, and gone unless another manager owns it too. Two that say the same
// own a field together; one that says something else than the owner is in conflict, and may take it over by force. A
// field a manager leaves out and another owns keeps its value. So a file applied again never resets what the file
// doesn't speak of.
//
// The leaves of a spec are its scalars, its lists (a list is changed whole) and its empty blocks. Every leaf has an
// owner; what was stored before owners were recorded, `apply` set.
//
// It is a function of values: it reads no store and no clock, and never refuses. Its caller decides what a conflict
// means.
//
//	outcome, err := ownership.Apply(stored, declared, ownership.Change{Manager: "autoscaler", At: now})
package ownership
