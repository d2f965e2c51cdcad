package eventlog

import "fmt"

// GoneError is the error of reading after a position whose events were deleted.
type GoneError struct {
	// Oldest is the oldest position that can still be read after.
	Oldest Position
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("these events are no longer kept: the oldest position that can be read after is %s", e.Oldest)
}
