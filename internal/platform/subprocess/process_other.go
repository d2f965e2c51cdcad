//go:build !linux

package subprocess

// KillMarked works only on Linux: elsewhere processes that left their process group keep running.
func KillMarked(string) {}

// limitMemory works only on Linux.
func limitMemory(int, int64) error { return nil }
