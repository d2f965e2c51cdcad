//go:build !race

package daemon

// interleavings is the number of histories for each kind. A history's number is its seed.
const interleavings = 100
