package identity

import "strings"

// SameVersion returns whether Flux reports the wanted version of a chart. A leading v is the same without, as in a tag. Build metadata
// does not count: in its place Flux reports a part of the digest of a chart from an OCI registry. Without a wanted version, all are
// right.
func SameVersion(want, have string) bool {
	return want == "" || plainVersion(want) == plainVersion(have)
}

func plainVersion(version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	return version
}
