package server

import (
	"strings"
)

// selector selects objects by their labels. All of its terms must match; the empty selector selects all objects.
type selector []selectorTerm

type selectorTerm struct {
	key, value string
	// exists matches the key alone; not negates the term.
	exists, not bool
}

// parseSelector reads comma-separated terms: key=value, key!=value, key, !key.
func parseSelector(text string) (selector, error) {
	var out selector
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		var term selectorTerm
		if key, value, found := strings.Cut(part, "!="); found {
			term = selectorTerm{key: key, value: value, not: true}
		} else if key, value, found := strings.Cut(part, "="); found {
			term = selectorTerm{key: key, value: strings.TrimPrefix(value, "=")}
		} else {
			bare := strings.TrimPrefix(part, "!")
			term = selectorTerm{key: bare, exists: true, not: bare != part}
		}
		if term.key == "" {
			return nil, badRequest("use key=value, key!=value, key or !key, separated by commas",
				"selector term %q has no key", part)
		}
		out = append(out, term)
	}
	return out, nil
}

func (s selector) matches(labels map[string]string) bool {
	for _, term := range s {
		value, has := labels[term.key]
		holds := has && (term.exists || value == term.value)
		if holds == term.not {
			return false
		}
	}
	return true
}
