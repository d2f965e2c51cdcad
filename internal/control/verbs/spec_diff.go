package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ownership"
)

// Changes lists the fields in which two specs differ, ordered by path. It is empty if they mean the same. Order of
// keys, white space, absent or null, and 1 or 1.0 make no difference; the order of a list does.
func Changes(old, next json.RawMessage) ([]api.FieldChange, error) {
	a, err := value(old)
	if err != nil {
		return nil, err
	}
	b, err := value(next)
	if err != nil {
		return nil, err
	}
	return diff("", a, b, nil), nil
}

// sameRelease reports whether two specs ask for the same release: replicas are not part of one.
func sameRelease(old, next json.RawMessage) bool {
	changes, err := Changes(old, next)
	return err == nil && !asksForRelease(changes)
}

func asksForRelease(changes []api.FieldChange) bool {
	return slices.ContainsFunc(changes, func(c api.FieldChange) bool { return !isReplicas(c.Path) })
}

func value(spec json.RawMessage) (any, error) {
	if len(spec) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return out, nil
}

// diff appends the leaves in which a and b differ. A nil value is an absent one.
func diff(path string, a, b any, out []api.FieldChange) []api.FieldChange {
	objectA, isObjectA := a.(map[string]any)
	objectB, isObjectB := b.(map[string]any)
	listA, isListA := a.([]any)
	listB, isListB := b.([]any)
	switch {
	case isObjectA && (isObjectB || b == nil) && len(objectA)+len(objectB) > 0,
		isObjectB && a == nil && len(objectB) > 0:
		keys := slices.Sorted(maps.Keys(objectA))
		for key := range objectB {
			if _, both := objectA[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			out = diff(ownership.Below(path, key), objectA[key], objectB[key], out)
		}
		return out
	case isListA && (isListB || b == nil) && len(listA)+len(listB) > 0, isListB && a == nil && len(listB) > 0:
		for i := range max(len(listA), len(listB)) {
			out = diff(path+"["+strconv.Itoa(i)+"]", at(listA, i), at(listB, i), out)
		}
		return out
	case equal(a, b):
		return out
	}
	return append(out, api.FieldChange{Path: path, Old: text(a), New: text(b)})
}

func equal(a, b any) bool {
	if x, ok := a.(json.Number); ok {
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	}
	// An empty list or object differs from an absent one: for some fields empty has a meaning.
	return bytes.Equal(text(a), text(b))
}

func sameNumber(x, y json.Number) bool {
	if x == y {
		return true
	}
	a, errA := strconv.ParseFloat(x.String(), 64)
	b, errB := strconv.ParseFloat(y.String(), 64)
	_, wholeA := strconv.ParseInt(x.String(), 10, 64)
	_, wholeB := strconv.ParseInt(y.String(), 10, 64)
	if wholeA == nil && wholeB == nil {
		return false // two integers spelled differently differ, even if they are equal as floats
	}
	return errA == nil && errB == nil && a == b
}

func text(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// fieldsOf splits a spec into its top-level fields.
func fieldsOf(spec json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(normalSpec(spec), &fields); err != nil {
		return nil, errors.New("must be an object")
	}
	return fields, nil
}

// withField returns the spec with one top-level field set, or removed where the value is nil.
func withField(spec json.RawMessage, name string, v json.RawMessage) (json.RawMessage, error) {
	fields, err := fieldsOf(spec)
	if err != nil {
		return nil, err
	}
	if v == nil {
		delete(fields, name)
	} else {
		fields[name] = v
	}
	return json.Marshal(fields)
}
