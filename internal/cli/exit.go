package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/suggest"
)

// The exit codes scripts rely on. `tend exec` ends with the command's own instead.
const (
	exitOK       = 0
	exitError    = 1
	exitPaused   = 2 // what was asked for did not last, rolled back or paused, or waits: for room, or for another object
	exitChanges  = 2 // diff --detailed-exitcode: there are changes
	exitTimeout  = 3
	exitReplaced = 4 // a newer change took the place of what was applied, before it was complete
)

// exitStatus ends the process with a code. An empty text means that everything is printed already.
type exitStatus struct {
	code int
	text string
	// title names the error for programs; empty for one that has no name of its own.
	title string
	// cause is the server's answer whose faults the text explains; or nil.
	cause *api.Problem
}

// Unwrap returns the server's answer.
func (e *exitStatus) Unwrap() error {
	if e.cause == nil {
		return nil
	}
	return e.cause
}

func (e *exitStatus) Error() string {
	if e.text != "" {
		return e.text
	}
	return fmt.Sprintf("exit status %d", e.code)
}

// missingError is an address that matches nothing.
type missingError struct {
	what string
	// meant is the name that was probably meant; empty if none is near.
	meant string
	// next is the next step. Default: to list everything.
	next string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("there is no %s%s\n  %s", e.what, suggest.Behind(e.meant),
		cmp.Or(e.next, "`tend get` lists what there is"))
}

// report prints an error and returns the process's exit code.
func report(err error, stderr io.Writer) int {
	code, text := exitOf(err)
	if text != "" {
		fmt.Fprintln(stderr, "error: "+printable(text, "\n"))
	}
	return code
}

// exitOf returns the exit code of an error, and its text; that is empty if there is nothing left to print.
func exitOf(err error) (code int, text string) {
	if err == nil {
		return exitOK, ""
	}
	code, text = exitError, strings.TrimSpace(err.Error())
	var (
		status      *exitStatus
		interrupted *interruptedError
	)
	switch {
	case errors.As(err, &interrupted):
		code = interrupted.code()
		if err == error(interrupted) { //nolint:errorlint // alone, not wrapped: a wrapper has more to say
			text = "" // the user who pressed Ctrl-C knows
		}
	case errors.As(err, &status):
		code = status.code
		if err == error(status) { //nolint:errorlint // as above
			text = status.text
		}
	}
	if text != "" {
		text = absentFile(text, err)
	}
	return code, text
}

// absentFile returns the text of an error. If a file that the user named isn't there, the text names the folder where
// it isn't, and the next step.
func absentFile(text string, err error) string {
	var failed *fs.PathError
	if !errors.As(err, &failed) || !errors.Is(failed, fs.ErrNotExist) || filepath.IsAbs(failed.Path) {
		return text
	}
	folder, _ := os.Getwd()
	entries, _ := os.ReadDir(filepath.Dir(failed.Path)) // of a folder that isn't there, none
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	near := suggest.Nearest(filepath.Base(failed.Path), names)
	if near != "" {
		near = filepath.Join(filepath.Dir(failed.Path), near)
	}
	next := "\n  correct the path: it is relative to that folder"
	if near != "" {
		next = "\n  " + suggest.Ask(near)
	}
	return strings.Replace(text, failed.Error(), "there is no file "+failed.Path+" in "+folder, 1) + next
}
