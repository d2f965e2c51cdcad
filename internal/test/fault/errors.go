package fault

import "errors"

var (
	// ErrCrashed means that the calling server is dead. The call had no effect, or its result was not returned.
	ErrCrashed = errors.New("crashed at a failpoint")
	// ErrSyntax means that TEND_FAULT doesn't name a point.
	ErrSyntax = errors.New("not a failpoint")
)
