// Package arch holds the tests that keep the tree in shape: which folder may import which, what may be called where,
// how long a file or a function may be, and what must be documented. Every rule prints its reason with the place that
// breaks it. A rule that is in the way is changed here, in the open, with a new reason.
//
// It reads the sources (go/parser), all build tags at once, and asks the go command what the binaries link.
package arch
