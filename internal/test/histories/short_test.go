//go:build integration && !long

package histories

// rounds is the number of rounds of a test of a disk or a clock. In the second one another server leads, or the clock
// is behind. Builds with the tag long run both.
const rounds = 1
