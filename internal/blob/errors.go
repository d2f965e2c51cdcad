package blob

import "errors"

var (
	// ErrNotFound: no blob has that digest.
	ErrNotFound = errors.New("no such blob")
	// ErrTooLarge: the bytes go on behind the limit.
	ErrTooLarge = errors.New("the file is too large")
	// ErrMismatch: the bytes are others than the digest says.
	ErrMismatch = errors.New("the bytes have another digest")
	// ErrNoSpace: the disk would be full; nothing of the file stayed.
	ErrNoSpace = errors.New("not enough disk space for the file")
	// ErrDigest: the text is not sha256: and 64 hex digits.
	ErrDigest = errors.New("not a digest (sha256: and 64 hex digits)")
)
