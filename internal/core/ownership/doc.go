// Package ownership decides who owns which field of a spec, and what an object becomes when a field manager changes it.
//
// A manager is a role: `apply` is that of users, an autoscaler or a sync has its own. A manager owns what it declares
// until it leaves it out again: then the field is released, and removed unless another manager owns it too. Two
// managers that declare the same value own a field together; one that declares another value than the owner is in
// conflict, and may take the field over by force. A field that a manager leaves out and another owns keeps its value.
// So applying a file again never resets what the file doesn't contain.
//
// A manager that is gone, or no longer names the object, releases what it set: the value stays, no manager is in
// conflict with it, and the next one that declares the field owns it.
//
// The leaves of a spec are its scalars, its lists (a list is changed as a whole) and its empty blocks. Every leaf has
// an owner; `apply` owns what was stored before owners were recorded.
//
// It is a function of values: it reads no store and no clock, and never refuses. Its caller decides what a conflict
// means.
//
//	outcome, err := ownership.Apply(stored, declared, ownership.Change{Manager: "autoscaler", At: now})
package ownership
