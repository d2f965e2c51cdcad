package cli

import (
	"os"
	"strings"
	"testing"

	"tend.dev/tend/internal/input/build/tree"
	"tend.dev/tend/internal/input/manifest"
)

// TestASourceLeavesNothingBehind, however its apply ends: the tar is unlinked while it is sent.
func TestASourceLeavesNothingBehind(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	packed, err := packTree(t.Context(), manifest.Source{Folder: "testdata"}, tree.DefaultMaxBytes, true)
	if err != nil {
		t.Fatal(err)
	}
	defer dropTrees([]packedTree{packed})
	if left, err := os.ReadDir(temporary); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	if packed.size == 0 {
		t.Error("it is empty")
	}
}

// TestFilesThatAreNotATar: input that is not a tar gets an error that says what to send.
func TestFilesThatAreNotATar(t *testing.T) {
	a := &app{streams: streams{in: strings.NewReader("hello")}}
	if _, _, err := a.unpackInput(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "tar -cz . | ssh HOST tend receive-pack") {
		t.Errorf("%v", err)
	}
}
