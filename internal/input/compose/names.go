package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// distinct folds each name, and appends a number where the result is taken. Names that fold doesn't change come first,
// so they keep their form.
func distinct(names []string, fold func(string) string, number func(folded string, n int) string) map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	give := func(near func(name, folded string) bool) {
		for _, name := range slices.Sorted(slices.Values(names)) {
			folded := fold(name)
			if _, given := out[name]; given || !near(name, folded) {
				continue
			}
			unique := folded
			for n := 2; taken[unique]; n++ {
				unique = number(folded, n)
			}
			out[name], taken[unique] = unique, true
		}
	}
	give(func(name, folded string) bool { return name == folded })
	give(strings.EqualFold)
	give(func(string, string) bool { return true })
	return out
}

func underscored(folded string, n int) string { return fmt.Sprintf("%s_%d", folded, n) }

// dashed appends a number to a DNS label, within the length of one.
func dashed(folded string, n int) string {
	suffix := fmt.Sprintf("-%d", n)
	if len(folded)+len(suffix) > api.MaxNameBytes {
		folded = strings.TrimRight(folded[:api.MaxNameBytes-len(suffix)], "-")
	}
	return folded + suffix
}

// Label returns the name of a project or a service as a DNS label: lower case, with dashes in place of invalid
// characters. Unlike the importer it doesn't keep two such names apart.
func Label(name string) string {
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
	return cmp.Or(text, "app")
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

// assetKey returns an asset's key for a config's name: app_conf for app.conf. A manifest writes it without quotes, so
// it begins with a letter or _.
func assetKey(name string) string {
	text := strings.Map(func(r rune) rune {
		if plainKey().MatchString(string(r)) {
			return r
		}
		return '_'
	}, name)
	if text == "" || text[0] == '-' || text[0] >= '0' && text[0] <= '9' {
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
