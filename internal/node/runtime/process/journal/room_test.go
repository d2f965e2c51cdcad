package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRotationThatFails: a rotation that can't open the next file loses lines only until it can.
func TestRotationThatFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "container")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := open(t, dir, 1, 2)
	line := func(text string) error { return w.Write(Line{Text: text, Time: time.Unix(1, 0)}) }
	if err := line("one"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"two", "three"} {
		if err := line(text); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: %v; want the folder to be missing", text, err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"four", "five"} {
		if err := line(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if diff := cmp.Diff([]string{"four", "five"}, read(t, dir, ReadOptions{Tail: -1})); diff != "" {
		t.Error(diff)
	}
}
