package main

import (
	"os"
	"testing"
)

// TestHeadingInAPipe: what is piped into a file has no escape codes.
func TestHeadingInAPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	if got, want := heading(writer, "Deploy"), "\n# Deploy\n"; got != want {
		t.Errorf("a pipe gets %q, want %q", got, want)
	}
}
