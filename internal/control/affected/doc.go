// Package affected says whom a change of the store concerns: the objects whose key is to be looked at because of it. It is
// the same for every kind that runs containers. A name too many costs a look, one too few a change that nobody sees, so what
// is in doubt is named.
//
// It decides nothing about the objects, and reads of a change no more than whose it is.
package affected
