//go:build !race

package race

// Few is the divisor for tests with many cases: one case in Few is tried.
const Few = 1
