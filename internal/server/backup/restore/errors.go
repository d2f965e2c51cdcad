package restore

import "errors"

var (
	// ErrUsed means that the root holds a server's files.
	ErrUsed = errors.New("this root is in use")
	// ErrBusy: another restore writes to the root.
	ErrBusy = errors.New("another restore is under way")
	// ErrInterrupted means that a restore into the root did not end, and that the root holds nothing else.
	ErrInterrupted = errors.New("a restore was interrupted")
	// ErrIncomplete means that the backup has no store, not the store's key, or not all blobs.
	ErrIncomplete = errors.New("the backup is not complete")
)
