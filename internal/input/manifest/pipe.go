package manifest

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tend.dev/tend/internal/platform/recovery"
)

// pipeWait bounds the wait for a pipe's first writer. The pipe of a shell's <(…) has a writer from the beginning.
const pipeWait = 10 * time.Second

// readInput reads a file that the user named, which may be a pipe such as a shell's <(…).
func (l *loader) readInput(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	if info.Mode()&fs.ModeNamedPipe == 0 && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read manifest: %s is not a file: name a file, a folder, a pipe, or - for standard input",
			path)
	}
	opened := make(chan struct{})
	return l.unlessStuck(path, opened, func() ([]byte, error) {
		file, err := os.Open(path) // opening a pipe waits for a writer
		close(opened)
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		defer file.Close()
		return readBounded(file, path, l.options.MaxBytes)
	})
}

// unlessEnded returns the result of read, unless the loading ends first: read then continues unattended.
func (l *loader) unlessEnded(read func() ([]byte, error)) ([]byte, error) {
	opened := make(chan struct{})
	close(opened)
	return l.unlessStuck("", opened, read)
}

// unlessStuck is unlessEnded for a path that must be opened within PipeWait.
func (l *loader) unlessStuck(path string, opened <-chan struct{}, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	answered := make(chan answer, 1)
	recovery.Go(func() {
		var a answer
		err := recovery.Call(func() error { a.text, a.err = read(); return nil })
		a.err = cmp.Or(a.err, err)
		answered <- a
	})
	patience := time.NewTimer(l.options.PipeWait)
	defer patience.Stop()
	for {
		select {
		case a := <-answered:
			return a.text, a.err
		case <-opened:
			opened = nil
			patience.Stop()
		case <-patience.C:
			return nil, fmt.Errorf("read manifest: nothing has written to the pipe %s within %s: start what writes it first, or name a file",
				path, l.options.PipeWait)
		case <-l.options.Context.Done():
			return nil, context.Cause(l.options.Context)
		}
	}
}
