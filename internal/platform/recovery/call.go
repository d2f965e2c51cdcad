package recovery

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"

	"tend.dev/tend/api/pattern"
)

// PanicError reports that a function panicked.
type PanicError struct {
	// Place is the function of this module that panicked, or whose call panicked, without the module's path.
	Place string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.Place, e.Value) }

// Call calls fn and returns its error, or a *PanicError if it panics. attrs are added to the log line of a panic; they
// say which object, change or request fn works on.
func Call(fn func() error, attrs ...any) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = caught(value, attrs)
		}
	}()
	return fn()
}

// caught logs and counts a panic.
func caught(value any, attrs []any) *PanicError {
	e := &PanicError{Place: place(), Value: value, Stack: debug.Stack()}
	panics.Inc()
	if logged.due(fmt.Sprint(e.Place, value, attrs)) {
		log := slog.With(attrs...)
		log.Error("panic recovered, work goes on", "place", e.Place, "panic", value, "stack", string(e.Stack))
	}
	return e
}

const (
	module = "tend.dev/tend/"
	// depth bounds the number of calls between a panic and the named function.
	depth = 64
)

// literal matches what the compiler adds to the name of a function for the literals in it.
var literal = pattern.Lazy(`(\.func\d+|\.gowrap\d+|\.\d+|-fm|-range\d+)+$`)

// place returns the function that panicked. It must run in the deferred call that recovers, where the panicking
// function is below it on the stack.
func place() string {
	var callers [depth]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	for panicking := false; ; {
		frame, more := frames.Next()
		name, ours := strings.CutPrefix(frame.Function, module)
		if panicking && ours {
			return literal().ReplaceAllString(name, "")
		}
		panicking = panicking || frame.Function == "runtime.gopanic"
		if !more {
			return "unknown"
		}
	}
}
