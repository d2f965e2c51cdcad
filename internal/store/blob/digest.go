package blob

import (
	"fmt"

	"tend.dev/tend/api/pattern"
)

const algorithm = "sha256:"

var (
	hexDigits = pattern.Lazy(`^[0-9a-f]{64}$`)
	linkName  = pattern.Lazy(`^[A-Za-z0-9_-]{1,128}$`)
)

// digits returns a digest's hex digits, which are safe in a path.
func digits(digest string) (string, error) {
	if len(digest) <= len(algorithm) || digest[:len(algorithm)] != algorithm ||
		!hexDigits().MatchString(digest[len(algorithm):]) {
		return "", fmt.Errorf("%.80q: %w", digest, ErrDigest)
	}
	return digest[len(algorithm):], nil
}
