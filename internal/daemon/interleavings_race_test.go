//go:build race

package daemon

// interleavings is smaller under the race detector, which makes a history several times slower.
const interleavings = 10
