package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const piped = "deployment \"prod\" \"web\" {\n  image = \"app\"\n}\n"

// TestPipes: a shell's <(…) is read, however long its writer takes. The wait for a pipe without a writer is bounded,
// and ends when the user cancels.
func TestPipes(t *testing.T) {
	pipe := func() string {
		path := filepath.Join(t.TempDir(), "web.hcl")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	alone := pipe()
	_, err := Load(Options{Files: []string{alone}, PipeWait: time.Nanosecond})
	if err == nil || !strings.Contains(err.Error(), "nothing has written to the pipe "+alone+
		" within 1ns: start what writes it first") {
		t.Errorf("nobody writes: %v", err)
	}
	releasePipe(t, alone)
	given := pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	time.AfterFunc(time.Millisecond, func() { cancel(interrupted) })
	if _, err := Load(Options{Files: []string{given}, PipeWait: time.Hour, Context: ctx}); !errors.Is(err, interrupted) {
		t.Errorf("the user gives up: %v", err)
	}
	releasePipe(t, given)
	written := pipe()
	go func() {
		if writer, err := os.OpenFile(written, os.O_WRONLY, 0); err == nil {
			_, _ = writer.WriteString(piped)
			writer.Close()
		}
	}()
	read, err := Load(Options{Files: []string{written}, PipeWait: time.Minute})
	if err != nil || len(read.Objects) != 1 {
		t.Errorf("a pipe with a writer: %+v, %v", read.Objects, err)
	}
}

// TestProcessSubstitution: bash opens a pipe and names it /dev/fd/63.
func TestProcessSubstitution(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	go func() { _, _ = writer.WriteString(piped); writer.Close() }()
	read, err := Load(Options{Files: []string{fmt.Sprintf("/dev/fd/%d", reader.Fd())}, Format: "hcl"})
	if err != nil || len(read.Objects) != 1 {
		t.Errorf("%+v, %v", read.Objects, err)
	}
}

// releasePipe ends a read of a pipe that was abandoned.
func releasePipe(t *testing.T, fifo string) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; {
		writer, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			writer.Close()
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("nothing reads the pipe: %v", err)
		}
	}
}

// TestAnInterruptEndsARead of a standard input that says nothing.
func TestAnInterruptEndsARead(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	time.AfterFunc(time.Millisecond, func() { cancel(interrupted) })
	if _, err := Load(Options{Files: []string{"-"}, Stdin: reader, Format: "hcl", Context: ctx}); !errors.Is(err,
		interrupted) {
		t.Error(err)
	}
}

// TestWhatIsNoFile is refused rather than read for ever.
func TestWhatIsNoFile(t *testing.T) {
	_, err := Load(Options{Files: []string{"/dev/zero"}, Format: "hcl"})
	if err == nil || !strings.Contains(err.Error(),
		"/dev/zero is not a file: name a file, a folder, a pipe, or - for standard input") {
		t.Error(err)
	}
}

// TestLoadingEnds with its context, between two objects.
func TestLoadingEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("it took too long")
	asked := 0
	text := strings.Repeat("deployment \"prod\" \"web\" {\n  image = \"${A}\"\n}\n", 3)
	read, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl", Context: ctx,
		Lookup: func(string) (string, bool) {
			if asked++; asked == 2 {
				cancel(late)
			}
			return "app", true
		}})
	if !errors.Is(err, late) || len(read.Objects) > 0 {
		t.Errorf("%+v, %v", read.Objects, err)
	}
}
