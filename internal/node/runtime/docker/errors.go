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
	return fmt.Errorf("%s: %w", operation, err)
}

// unavailable reports whether err means that the engine can't be reached, or stopped in the middle of an answer.
func unavailable(err error) bool {
	return client.IsErrConnectionFailed(err) || cerrdefs.IsUnavailable(err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// engineText returns the engine's message without the library's preface, cut to a maximal length.
func engineText(err error) string {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
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
