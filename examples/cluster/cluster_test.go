//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheDemonstration runs all of `make demo-cluster`: it ends without an error only if every command of it did what
// it says, and no request failed.
func TestTheDemonstration(t *testing.T) {
	t.Chdir("../..")
	tend := filepath.Join(t.TempDir(), "tend")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tend, "./cmd/tend")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build tend: %v: %s", err, out)
	}
	if err := run(t.Context(), tend); err != nil {
		t.Fatal(err)
	}
}
