// Package affected computes the objects to reconcile after a change of the store. It is the same for every kind that
// runs containers. One name too many costs a reconcile; one too few is a change that is missed. So what is in doubt is
// named.
//
// It makes no decision about the objects, and reads of a change only what it belongs to.
package affected
