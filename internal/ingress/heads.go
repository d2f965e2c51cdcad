package ingress

import "strings"

// dotted says whether a path has a segment that is one dot or two: who resolves them comes to another path. Some servers take a
// backslash for a slash, and what follows a semicolon for no part of a segment.
func dotted(path string) bool {
	for at := 0; ; at++ {
		next := strings.IndexByte(path[at:], '.')
		if next < 0 {
			return false
		}
		if at += next; at == 0 || path[at-1] != '/' && path[at-1] != '\\' {
			continue
		}
		rest := strings.TrimPrefix(path[at+1:], ".")
		if rest == "" || strings.IndexByte(`/\;`, rest[0]) >= 0 {
			return true
		}
	}
}

// claimed are the fields by which a proxy says where a request came from.
var claimed = []string{"forwarded", "x-forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-prefix", "x-real-ip"}

// claims says whether a field is one of those. A client's own is a lie; so is one with underscores, which many servers take for
// hyphens.
func claims(name string) bool {
	if name == "" || name[0]|0x20 != 'f' && name[0]|0x20 != 'x' { // no other begins a claim
		return false
	}
	for _, known := range claimed {
		if len(known) == len(name) && sameField(name, known) {
			return true
		}
	}
	return false
}

// sameField compares a name with one in lower case, which is as long.
func sameField(name, lower string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_':
			c = '-'
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
