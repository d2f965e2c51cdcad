package compose

import (
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// label returns a DNS label for any name: lower case, with dashes in place of invalid characters.
func label(name string) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	text = strings.Trim(text, "-")
	if len(text) > api.MaxNameBytes {
		text = strings.TrimRight(text[:api.MaxNameBytes], "-")
	}
	if text == "" {
		return "app"
	}
	return text
}

// configKey returns a config key for a secret's name: DB_PASSWORD for db-password.
func configKey(name string) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_':
			return r
		}
		return '_'
	}, name)
	if text == "" || text[0] >= '0' && text[0] <= '9' {
		text = "_" + text
	}
	return text
}

// lastKey returns the author's name at the end of a path.
func lastKey(path string) string {
	if quoted := strings.Index(path, `["`); quoted >= 0 {
		if name, err := strconv.Unquote(path[quoted+1 : len(path)-1]); err == nil {
			return name
		}
	}
	return path[strings.LastIndex(path, ".")+1:]
}
