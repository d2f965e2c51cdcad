package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string, size int64, files int) *Writer {
	t.Helper()
	w, err := Open(dir, size, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func read(t *testing.T, dir string, opts ReadOptions) []string {
	t.Helper()
	r, err := Read(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line.Text)
	}
}

func TestCopyCutsLines(t *testing.T) {
	long := strings.Repeat("x", MaxText-1)
	tests := map[string]struct {
		reason string
		output string
		want   []string
	}{
		"lines":          {"one each", "a\nb\n", []string{"a", "b"}},
		"no newline":     {"the rest is a line", "a\nb", []string{"a", "b"}},
		"empty lines":    {"they are kept", "a\n\n\nb\n", []string{"a", "", "", "b"}},
		"nothing":        {"no output, no line", "", nil},
		"too long":       {"cut at the bound", long + "yz\n", []string{long + "y", "z"}},
		"split rune":     {"a character is not cut", long + "é\n", []string{long, "é"}},
		"all in one row": {"the bound alone", long + "y", []string{long + "y"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, 0, 1).Copy("stdout", strings.NewReader(tc.output))
			if diff := cmp.Diff(tc.want, read(t, dir, ReadOptions{Tail: -1})); diff != "" {
				t.Error(tc.reason, diff)
			}
		})
	}
}

// TestRotation: the files stay within their bound and hold the newest lines.
func TestRotation(t *testing.T) {
	const size, files = 1000, 3
	dir := t.TempDir()
	w := open(t, dir, size, files)
	for i := range 200 {
		if err := w.Write(Line{Stream: "stdout", Time: time.Now(), Text: fmt.Sprint("line ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != files {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, entry := range entries {
		if info, _ := entry.Info(); info.Size() > size || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %d bytes with mode %v", entry.Name(), info.Size(), info.Mode())
		}
	}
	lines := read(t, dir, ReadOptions{Tail: -1})
	for i, line := range lines {
		if want := fmt.Sprint("line ", 200-len(lines)+i); line != want {
			t.Fatalf("line %d is %q, want %q", i, line, want)
		}
	}
	if tail := read(t, dir, ReadOptions{Tail: 2}); !slices.Equal(tail, []string{"line 198", "line 199"}) {
		t.Errorf("tail %q", tail)
	}
}

// TestFollowOverRotation: a follower that keeps up misses nothing when files are rotated away.
func TestFollowOverRotation(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, 500, 2)
	var writing atomic.Bool
	writing.Store(true)
	r, err := Read(t.Context(), dir, ReadOptions{Tail: -1, Follow: writing.Load})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 50 {
		want := fmt.Sprint("line ", i)
		if err := w.Write(Line{Stream: "stdout", Time: time.Now(), Text: want}); err != nil {
			t.Fatal(err)
		}
		if line, err := r.Next(); err != nil || line.Text != want {
			t.Fatalf("read %q, %v; want %q", line.Text, err, want)
		}
	}
	writing.Store(false)
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// TestCloseWhileWaiting: Close ends a Next that waits for more.
func TestCloseWhileWaiting(t *testing.T) {
	r, err := Read(t.Context(), t.TempDir(), ReadOptions{Tail: -1, Follow: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := r.Next()
		ended <- err
	}()
	_ = r.Close()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("next: %v", err)
	}
}

// TestFullDisk: a writer whose disk is full keeps reading.
func TestFullDisk(t *testing.T) {
	w := open(t, t.TempDir(), 0, 1)
	_ = w.file.Close()
	source := strings.NewReader("a\nb\n")
	w.Copy("stdout", source)
	if source.Len() != 0 {
		t.Errorf("%d bytes were left unread", source.Len())
	}
}
