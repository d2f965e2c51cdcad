package blob

import "errors"

var (
	// ErrNotFound: no blob has that digest.
	ErrNotFound = errors.New("no such blob")
	// ErrTooLarge: there are more bytes than the limit.
	ErrTooLarge = errors.New("the file is too large")
	// ErrMismatch: the bytes don't have the digest.
	ErrMismatch = errors.New("the bytes have another digest")
	// ErrNoSpace: the disk would be full; nothing of the file was kept.
	ErrNoSpace = errors.New("not enough disk space for the file")
	// ErrDigest: the text is not sha256: and 64 hex digits.
	ErrDigest = errors.New("not a digest (sha256: and 64 hex digits)")
)
