package fault

import "errors"

var (
	// ErrCrashed: the server that made the call is dead; the call did nothing, or what it did was told nobody.
	ErrCrashed = errors.New("crashed at a failpoint")
	// ErrSyntax: TEND_FAULT names no point.
	ErrSyntax = errors.New("not a failpoint")
)
