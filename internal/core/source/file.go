package source

// File is a file of a source.
type File struct {
	Path string
	// Modified is the time of the last change, in nanoseconds since 1970; 0 if the source doesn't report it.
	Modified int64
	// Digest identifies its content.
	Digest string
}
