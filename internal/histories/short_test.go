//go:build integration && !long

package histories

// rounds is how many rounds a story about a disk or a clock has. In the second one another server leads, or the clock is
// behind. Builds with the tag long have both.
const rounds = 1
