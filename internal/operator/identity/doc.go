// Package identity holds the names by which the operator knows its objects: labels, annotations, finalizers, its field
// manager, and the names of children. A child's name is a function of its source, so that a reconcile that is repeated
// writes the same object again.
//
// It depends on the standard library alone: the control plane uses the same names.
package identity
