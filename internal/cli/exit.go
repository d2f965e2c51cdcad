package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tend.dev/tend/api"
)

// The exit codes scripts rely on.
const (
	exitOK      = 0
	exitError   = 1
	exitPaused  = 2 // apply: rolled back or paused; diff --detailed-exitcode: there are changes
	exitTimeout = 3
)

// exitStatus ends the process with a code; what is to be said was said already where text is empty.
type exitStatus struct {
	code int
	text string
}

func (e *exitStatus) Error() string {
	if e.text != "" {
		return e.text
	}
	return fmt.Sprintf("exit status %d", e.code)
}

// report prints what went wrong and returns the process's exit code.
func report(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	var status *exitStatus
	if errors.As(err, &status) {
		if status.text != "" {
			fmt.Fprintln(stderr, "error: "+status.text)
		}
		return status.code
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "interrupted")
		return 130
	}
	var problem *api.Problem
	if errors.As(err, &problem) {
		fmt.Fprintln(stderr, "error: "+problem.Error())
		return exitError
	}
	fmt.Fprintln(stderr, "error: "+err.Error())
	return exitError
}

// Main runs a command line and returns its exit code.
func Main(ctx context.Context, args []string) int {
	root := newRoot(streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	root.SetArgs(args)
	return report(root.ExecuteContext(ctx), os.Stderr)
}
