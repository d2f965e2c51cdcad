package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

// fault translates an error of the engine for the runtime's callers. Nil stays nil.
func fault(operation string, err error) error {
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
		return &runtime.TransientError{Reason: "DiskFull", Detail: operation + ": " + detail, Next: "free space on the node"}
	}
	if rejected := rejection(operation, detail); rejected != nil {
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

// rejection looks up the engine's message in the table of rejections; nil if it isn't known to mean a faulty spec.
func rejection(operation, detail string) *runtime.RejectedError {
	for _, row := range rejections {
		if containsAll(detail, row.words) {
			said := operation + ": " + detail
			if row.say != "" {
				said = row.sentence(detail)
			}
			return &runtime.RejectedError{Reason: row.reason, Detail: said, Next: row.next}
		}
	}
	return nil
}

func containsAll(text string, words []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}
