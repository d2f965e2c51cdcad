package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ExpandValue expands every text of a value by way of its JSON form. Keys stay as they are.
func ExpandValue[T any](value T, spaces Spaces) (T, error) {
	return eachText(value, func(text string) (string, error) { return Expand(text, spaces) })
}

// EscapeValue escapes every text of a value, the counterpart of ExpandValue.
func EscapeValue[T any](value T, space string) (T, error) {
	return eachText(value, func(text string) (string, error) { return Escape(text, space), nil })
}

func eachText[T any](value T, change func(string) (string, error)) (T, error) {
	var out T
	raw, err := json.Marshal(value)
	if err != nil {
		return out, fmt.Errorf("expand: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return out, fmt.Errorf("expand: %w", err)
	}
	plain, err = eachPlain(plain, change)
	if err != nil {
		return out, err
	}
	if raw, err = json.Marshal(plain); err != nil {
		return out, fmt.Errorf("expand: %w", err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("expand: %w", err)
	}
	return out, nil
}

// eachPlain changes the texts of a decoded JSON value in place.
func eachPlain(value any, change func(string) (string, error)) (any, error) {
	var faults []error
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			item, err := eachPlain(v[i], change)
			v[i] = item
			faults = append(faults, err)
		}
	case map[string]any:
		for name := range v {
			item, err := eachPlain(v[name], change)
			v[name] = item
			faults = append(faults, err)
		}
	}
	return value, errors.Join(faults...)
}
