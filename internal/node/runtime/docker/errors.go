package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

// place is the machine of the runtime's engine, as messages name it.
func (r *Runtime) place() string { return "node " + r.options.Node }

// fault translates an error of the node's engine for the runtime's callers. Nil stays nil.
func (r *Runtime) fault(operation string, err error) error { return faultAt(r.place(), operation, err) }

// fault translates an error of the engine of the machine that a command was given on. Nil stays nil.
func fault(operation string, err error) error { return faultAt("this machine", operation, err) }

func faultAt(place, operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", operation, err)
	case unavailable(err):
		return fmt.Errorf("%s: %w: %w", operation, runtime.ErrUnavailable, err)
	}
	detail := engineText(err)
	if containsAll(detail, []string{"no space left on device"}) {
		return runtime.DiskFull(place, operation)
	}
	if rejected := rejection(place, operation, detail); rejected != nil {
		return rejected
	}
	switch {
	case cerrdefs.IsNotFound(err):
		return fmt.Errorf("%s: %w: %s", operation, runtime.ErrNotFound, detail)
	case cerrdefs.IsInvalidArgument(err):
		return &runtime.RejectedError{Reason: "InvalidOption", Detail: operation + ": " + detail,
			Next: "correct the manifest and apply it again"}
	}
	return &unknownError{text: operation + ": " + detail, cause: err}
}

// unknownError is an error of the engine that Tend doesn't know, without the parts of the engine that it went through.
type unknownError struct {
	text  string
	cause error
}

func (e *unknownError) Error() string { return e.text }
func (e *unknownError) Unwrap() error { return e.cause }

// unavailable reports whether err means that the engine can't be reached, or stopped in the middle of an answer.
func unavailable(err error) bool {
	return client.IsErrConnectionFailed(err) || cerrdefs.IsUnavailable(err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// prefaces say which parts of the engine an error went through, from the outermost.
var prefaces = []string{
	"Error response from daemon: ", "failed to create task for container: ", "failed to create shim task: ",
	"OCI runtime create failed: ", "runc create failed: ",
}

// engineText returns the engine's message without its prefaces, cut to a maximal length.
func engineText(err error) string {
	text := err.Error()
	for _, preface := range prefaces {
		text = strings.TrimPrefix(text, preface)
	}
	text = strings.TrimSuffix(text, ": unknown")
	const limit = 2 << 10
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return text
}

// rejection looks up the message of a machine's engine in the table of rejections; nil if it isn't known to mean a
// faulty spec.
func rejection(place, operation, detail string) *runtime.RejectedError {
	for _, row := range rejections {
		if containsAll(detail, row.words) {
			said := operation + ": " + detail
			if row.say != "" {
				said = sentence(named(row.say, place), row.find, detail)
			}
			return &runtime.RejectedError{Reason: row.reason, Detail: said, Next: named(row.next, place)}
		}
	}
	return nil
}

// named returns a text of a table with the name of the machine in place of {node}.
func named(text, place string) string { return strings.ReplaceAll(text, "{node}", place) }

// sentence returns a text with what find matches in the engine's message in place of its %s; if it matches nothing, the
// text must read well without.
func sentence(text string, find func() *regexp.Regexp, detail string) string {
	if find == nil {
		return text
	}
	match := ""
	if found := find().FindStringSubmatch(detail); found != nil {
		match = cmp.Or(found[1:]...)
	}
	return strings.TrimSuffix(strings.Join(strings.Fields(fmt.Sprintf(text, match)), " "), ":")
}

func containsAll(text string, words []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}
