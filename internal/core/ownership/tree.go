package ownership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"tend.dev/tend/api/pattern"
)

// Tree is a spec: blocks and maps are trees, everything else is a leaf. Nulls count as absent. Numbers are json.Number,
// which keeps their digits as written.
type Tree = map[string]any

// Parse decodes a spec. Empty input is a spec without fields.
func Parse(spec json.RawMessage) (Tree, error) {
	if len(bytes.TrimSpace(spec)) == 0 {
		return Tree{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.UseNumber()
	out := Tree{}
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return out, nil
}

// clone returns a tree that can be changed without changing t; lists are shared.
func clone(t Tree) Tree {
	out := maps.Clone(t)
	for key, value := range out {
		if below, ok := value.(Tree); ok {
			out[key] = clone(below)
		}
	}
	return out
}

// Text returns a value on one line, as it stands in a spec.
func Text(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write spec: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// walk visits the leaves in the order of their paths. A path is valid only during the visit.
func walk(t Tree, visit func(fieldpath.Path, any)) { walkBelow(make(fieldpath.Path, 0, 8), t, visit) }

func walkBelow(at fieldpath.Path, t Tree, visit func(fieldpath.Path, any)) {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		path := append(at, fieldpath.FieldNameElement(key)) //nolint:gocritic // a path is valid during the visit only
		below, ok := t[key].(Tree)
		switch {
		case ok && len(below) > 0:
			walkBelow(path, below, visit)
		case t[key] != nil:
			visit(path, t[key])
		}
	}
}

func leaves(t Tree) *fieldpath.Set {
	out := fieldpath.NewSet()
	walk(t, func(path fieldpath.Path, _ any) { out.Insert(path) })
	return out
}

// lookup returns the value at a path, leaf or not.
func lookup(t Tree, path fieldpath.Path) (any, bool) {
	var value any = t
	for _, element := range path {
		below, ok := value.(Tree)
		if !ok {
			return nil, false
		}
		value = below[*element.FieldName]
	}
	return value, value != nil
}

// insert puts a value if nothing stands yet, and makes the blocks that lead there.
func insert(t Tree, path fieldpath.Path, value any) {
	last := len(path) - 1
	for _, element := range path[:last] {
		if t[*element.FieldName] == nil {
			t[*element.FieldName] = Tree{}
		}
		below, ok := t[*element.FieldName].(Tree)
		if !ok {
			return
		}
		t = below
	}
	if t[*path[last].FieldName] == nil {
		t[*path[last].FieldName] = value
	}
}

// same reports whether two values mean the same: 1 and 1.0 do.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case Tree:
		b, ok := b.(Tree)
		return ok && maps.EqualFunc(a, b, same)
	}
	switch b.(type) {
	case []any, Tree:
		return false
	}
	return a == b
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if _, err := strconv.ParseInt(a.String(), 10, 64); err == nil {
		if _, err := strconv.ParseInt(b.String(), 10, 64); err == nil {
			return false // two integers spelled differently differ, even if they are equal as floats
		}
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

var plainKey = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Below returns the path of a field in the block or map at a path, in a manifest's own words.
func Below(path, key string) string {
	switch {
	case !plainKey().MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func pathText(path fieldpath.Path) string {
	out := ""
	for _, element := range path {
		out = Below(out, *element.FieldName)
	}
	return out
}
