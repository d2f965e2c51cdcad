package ingress

import "strings"

// dotted reports whether a path has a segment of one dot or two: a server that resolves them gets another path. Some
// servers treat a backslash as a slash, and ignore what follows a semicolon in a segment.
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

// claimed are the header fields in which a proxy says where a request came from.
var claimed = []string{"forwarded", "x-forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-prefix", "x-real-ip"}

// claims reports whether a field is one of claimed. From a client such a field can't be trusted; nor can one with
// underscores, which many servers take for hyphens.
func claims(name string) bool {
	if name == "" || name[0]|0x20 != 'f' && name[0]|0x20 != 'x' { // no other letter begins a claimed field
		return false
	}
	for _, known := range claimed {
		if len(known) == len(name) && sameField(name, known) {
			return true
		}
	}
	return false
}

// sameField compares a name with a lower-case name of the same length.
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
