package reference

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// Lookup returns what a well-formed reference stands for.
type Lookup func(api.Reference) (string, error)

// Spaces are the lookups of the spaces that a pass resolves (api.SpaceRef, api.SpaceAsset). References of other spaces,
// and their escapes, are left for the pass that resolves them.
type Spaces map[string]Lookup

// Find returns the references of a text that are not escaped, in order.
func Find(text string) []api.Reference {
	return slices.DeleteFunc(api.References(text), func(r api.Reference) bool { return r.Escaped })
}

// Expand replaces every reference of the spaces. The error names all references that can't be resolved; the text is
// then useless. Resolve a space in one pass over a text: a second one would take values, and escaped references, for
// references.
func Expand(text string, spaces Spaces) (string, error) { return ExpandAround(text, spaces, keep) }

func keep(text string) string { return text }

// ExpandAround is Expand, but also changes the text between the references. It never changes a value.
func ExpandAround(text string, spaces Spaces, change func(string) string) (string, error) {
	var out strings.Builder
	var faults []error
	at := 0
	for _, r := range api.References(text) {
		lookup := spaces[r.Space]
		if lookup == nil {
			continue
		}
		value, err := resolve(r, lookup)
		faults = append(faults, err)
		out.WriteString(change(text[at:r.Start]))
		out.WriteString(value)
		at = r.End
	}
	out.WriteString(change(text[at:]))
	return out.String(), errors.Join(faults...)
}

// Escape returns a text that Expand turns back into the given one, whatever the space's references stand for.
func Escape(text, space string) string {
	var out strings.Builder
	at := 0
	for _, r := range api.References(text) {
		if r.Space == space {
			out.WriteString(text[at:r.Start] + "$")
			at = r.Start
		}
	}
	return out.String() + text[at:]
}

func resolve(r api.Reference, lookup Lookup) (string, error) {
	if r.Escaped {
		return r.Text, nil
	}
	if err := r.Check(); err != nil {
		return "", err
	}
	value, err := lookup(r)
	if err == nil && r.Filter == api.FilterURL {
		value = Encoded(value)
	}
	return value, err
}

// Encoded percent-encodes a value for any part of a URL, a user's password too.
func Encoded(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

// ExpandAll expands the texts of a list into a new list.
func ExpandAll(texts []string, spaces Spaces) ([]string, error) {
	if !slices.ContainsFunc(texts, holds) {
		return texts, nil
	}
	out := make([]string, len(texts))
	var faults []error
	for i, text := range texts {
		var err error
		out[i], err = Expand(text, spaces)
		faults = append(faults, err)
	}
	return out, errors.Join(faults...)
}

// ExpandMap expands the values of a map into a new map.
func ExpandMap(texts map[string]string, spaces Spaces) (map[string]string, error) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(texts)), holds) {
		return texts, nil
	}
	out := make(map[string]string, len(texts))
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		var err error
		out[key], err = Expand(texts[key], spaces)
		faults = append(faults, err)
	}
	return out, errors.Join(faults...)
}

func holds(text string) bool { return len(api.References(text)) > 0 }

// Walk calls fn for every text of a decoded JSON value with its path (env.A, volumes[0]), in a fixed order.
func Walk(value any, fn func(path, text string)) { walk("", value, fn) }

func walk(path string, value any, fn func(path, text string)) {
	switch v := value.(type) {
	case string:
		fn(path, v)
	case []any:
		for i, item := range v {
			walk(path+"["+strconv.Itoa(i)+"]", item, fn)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			here := name
			if path != "" {
				here = path + "." + name
			}
			walk(here, v[name], fn)
		}
	}
}
