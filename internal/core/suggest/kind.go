package suggest

import (
	"slices"
	"strings"
)

// ForeignKind returns what a manifest has instead of another tool's kind; empty if it isn't known as one.
func ForeignKind(word string) string {
	word = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(word))
	for _, f := range ForeignWords {
		if slices.Contains(f.Nouns, word) || slices.Contains(f.Kinds, word) {
			return f.Manifest
		}
	}
	return ""
}
