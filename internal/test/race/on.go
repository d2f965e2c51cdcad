//go:build race

package race

// Few is the number of cases of which one is tried.
const Few = 8
