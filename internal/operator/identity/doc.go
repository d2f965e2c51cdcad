// Package identity holds the names that the operator uses: labels, annotations, finalizers, its field manager and the
// names of children. A child's name is a function of its source, so a repeated reconcile writes the same object again.
//
// It depends only on the standard library: the control plane uses the same names.
package identity
