package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The variables that set the failpoints of a program built with the tag failpoints.
const (
	// EnvCrash is "<point>" or "<point>:<n>": kill the process at the n-th hit of the point.
	EnvCrash = "TEND_FAULT"
	// EnvTrace names a file to which the name of every hit point is appended, one per line.
	EnvTrace = "TEND_FAULT_TRACE"
)

// FromEnv returns the points that the environment sets, or nil if it sets none. It returns ErrSyntax for an invalid
// value.
func FromEnv() (*Points, error) {
	crash, trace := os.Getenv(EnvCrash), os.Getenv(EnvTrace)
	if crash == "" && trace == "" {
		return nil, nil
	}
	opts := Options{Kill: killSelf}
	var err error
	if crash != "" {
		if opts.Crash, opts.At, err = parse(crash); err != nil {
			return nil, err
		}
	}
	if trace != "" {
		if opts.Trace, err = traceTo(trace); err != nil {
			return nil, err
		}
	}
	return New(opts), nil
}

// parse rejects a point that could never be hit: a test would wait for its crash forever.
func parse(text string) (name string, at int, err error) {
	name, count, counted := strings.Cut(text, ":")
	at = 1
	if counted {
		if at, err = strconv.Atoi(count); err != nil || at < 1 {
			return "", 0, fmt.Errorf("%s=%q: %w: the hit after the colon is a number from 1", EnvCrash, text, ErrSyntax)
		}
	}
	part, _, _ := strings.Cut(name, ".")
	when := name[strings.LastIndex(name, ".")+1:]
	if (part != "store" && part != "runtime") || (when != "before" && when != "after") || strings.Count(name, ".") < 2 {
		return "", 0, fmt.Errorf("%s=%q: %w: want store.<site>.before or .after, or runtime.<verb>.before or .after, "+
			"optionally followed by :<n>", EnvCrash, text, ErrSyntax)
	}
	return name, at, nil
}

// traceTo returns a function that appends a point to a file, with one write each, so the file has every point hit
// before a kill. The file stays open until the process ends.
func traceTo(path string) (func(string), error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the trace %s names: %w", EnvTrace, err)
	}
	return func(name string) { _, _ = file.WriteString(name + "\n") }, nil
}

// killSelf ends the process as SIGKILL does: nothing is flushed, deferred or answered.
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}
