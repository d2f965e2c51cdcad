// Package affected computes the objects to reconcile after a change of the store, in the same way for every kind that
// runs containers. One object too many costs a reconcile; one too few misses a change. So in doubt it includes an
// object.
//
// It decides nothing about the objects. From a change it only reads which object it belongs to.
package affected
