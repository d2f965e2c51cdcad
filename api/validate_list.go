package api

import (
	"bytes"
	"encoding/json"
)

// longList returns the path of the first list with more than MaxListEntries entries; empty if there is none. What is
// not JSON has none: reading it finds the fault.
func longList(spec json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(spec))
	var open []bracket
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		switch token {
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
			continue
		}
		path := ""
		if last := len(open) - 1; last >= 0 {
			name, isName := token.(string)
			if open[last].take(name, isName) {
				continue // the name of a field, whose value follows
			}
			if path = open[last].path(); open[last].list && open[last].entries > MaxListEntries {
				return open[last].at
			}
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			open = append(open, bracket{at: path, list: token == json.Delim('[')})
		}
	}
}

// bracket is a list or an object that is being read.
type bracket struct {
	at      string
	list    bool
	entries int
	// name is the name of an object's field. named is set if its value comes next.
	name  string
	named bool
}

// take counts a value of the bracket. It reports whether the token is a field's name instead.
func (b *bracket) take(name string, isName bool) bool {
	if !b.list && !b.named && isName {
		b.name, b.named = name, true
		return true
	}
	b.entries++
	b.named = false
	return false
}

// path returns the path of the value that was taken last.
func (b *bracket) path() string {
	switch {
	case b.list:
		return index(b.at, b.entries-1)
	case b.at == "":
		return b.name
	}
	return key(b.at, b.name)
}
