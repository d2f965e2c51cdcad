// Package race reports whether the race detector is on. Code is several times slower under it, so tests with many
// cases then try only one in Few. The package decides nothing else, and only tests import it.
package race
