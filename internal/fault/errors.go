package fault

import "errors"

var (
	// ErrCrashed means that the server that made the call is dead; the call did nothing, or its result was not
	// returned.
	ErrCrashed = errors.New("crashed at a failpoint")
	// ErrSyntax means that TEND_FAULT names no point.
	ErrSyntax = errors.New("not a failpoint")
)
