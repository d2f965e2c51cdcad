package identity

import "strings"

// SameVersion reports whether Flux reports the desired version of a chart. A leading v doesn't count. Build metadata
// doesn't either: for a chart from an OCI registry Flux reports a part of its digest instead. If want is empty, every
// version matches.
func SameVersion(want, have string) bool {
	return want == "" || plainVersion(want) == plainVersion(have)
}

func plainVersion(version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	return version
}
