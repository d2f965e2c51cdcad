package buildlog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Read calls each with the lines of a log. With follow it waits for further lines until the build has ended, also if
// the build hasn't begun. Without follow it returns ErrNotFound if there is no log.
func (l *Logs) Read(ctx context.Context, called string, follow bool, each func(line string) error) error {
	path, err := l.path(called)
	if err != nil {
		return err
	}
	file, log, err := l.find(ctx, called, path, follow)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	half := ""
	for {
		var changed <-chan struct{}
		done := true
		if log != nil && follow {
			changed, done = log.state() // taken before reading, so that no line written meanwhile is missed
		}
		if half, err = drain(lines, half, each); err != nil || done {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// find opens the file of a log, and returns the log too if it is still being written. With follow it waits until the
// log exists.
func (l *Logs) find(ctx context.Context, called, path string, follow bool) (*os.File, *Log, error) {
	for {
		l.mu.Lock()
		log, begun := l.open[called], l.begun
		file, err := os.Open(path)
		l.mu.Unlock()
		switch {
		case err == nil:
			return file, log, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, nil, fmt.Errorf("read a build's log: %w", err)
		case !follow:
			return nil, nil, fmt.Errorf("%s: %w", called, ErrNotFound)
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// drain passes on the complete lines that can be read now, and returns the beginning of an incomplete one.
func drain(lines *bufio.Reader, half string, each func(line string) error) (string, error) {
	for {
		text, err := lines.ReadString('\n')
		half += text
		if errors.Is(err, io.EOF) {
			return half, nil
		}
		if err != nil {
			return half, fmt.Errorf("read a build's log: %w", err)
		}
		if err := each(strings.TrimSuffix(half, "\n")); err != nil {
			return "", err
		}
		half = ""
	}
}
