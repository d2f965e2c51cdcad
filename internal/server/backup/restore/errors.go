package restore

import "errors"

var (
	// ErrUsed: the root holds a server's files.
	ErrUsed = errors.New("this root is in use")
	// ErrBusy: another restore writes to the root.
	ErrBusy = errors.New("another restore is under way")
	// ErrInterrupted: a restore into the root, which holds nothing else, did not end.
	ErrInterrupted = errors.New("a restore was interrupted")
	// ErrIncomplete: the backup has no store, not its key, or not all blobs.
	ErrIncomplete = errors.New("the backup is not complete")
)
