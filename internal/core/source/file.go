package source

// File is a file of a source.
type File struct {
	Path string
	// Modified is when it was last changed, in nanoseconds since 1970, where the source says so; 0 where not.
	Modified int64
	// Digest identifies its content.
	Digest string
}
