package subprocess

import (
	"testing"
	"time"
)

// TestMemory: a program that allocates 256 MiB fails where it may have 64.
func TestMemory(t *testing.T) {
	out, err := Process{
		Argv:  []string{"/bin/sh", "-c", "s=0123456789abcdef; while [ ${#s} -lt 268435456 ]; do s=$s$s; done"},
		Limit: time.Minute, Stdout: 1 << 20, Stderr: 1 << 20,
		Memory: 64 << 20,
	}.Run(t.Context())
	if err != nil || out.Code == 0 {
		t.Errorf("it ended with %d and %v: %s", out.Code, err, out.Stderr)
	}
}
