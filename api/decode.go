package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
)

// DecodeStrict reads a spec strictly: a field that does not exist (names are compared exactly), a key given twice, a
// wrong type or anything behind the value is an error. The error is a FieldError where it has a place.
func DecodeStrict[T any](raw json.RawMessage) (T, error) {
	var spec T
	if len(bytes.TrimSpace(raw)) == 0 {
		return spec, FieldError{Field: "spec", Detail: "is required"}
	}
	return spec, decodeStrict(raw, &spec)
}

// decodeStrict is json.Unmarshal without its leniency.
func decodeStrict(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := checkShape(decoder, reflect.TypeOf(into).Elem(), "", 0); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("spec: something follows its end")
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return describe(err)
	}
	return nil
}

// maxDepth bounds how deep values nest; no spec needs a quarter of it.
const maxDepth = 32

// checkShape walks one value: its objects have keys of t, each once.
func checkShape(decoder *json.Decoder, t reflect.Type, path string, depth int) error {
	token, err := decoder.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if depth > maxDepth {
		return FieldError{Field: path, Detail: "nests too deep"}
	}
	switch token {
	case json.Delim('{'):
		return checkObject(decoder, t, path, depth)
	case json.Delim('['):
		for i := 0; decoder.More(); i++ {
			if err := checkShape(decoder, elem(t), index(path, i), depth+1); err != nil {
				return err
			}
		}
		_, err = decoder.Token()
	}
	return err
}

func checkObject(decoder *json.Decoder, t reflect.Type, path string, depth int) error {
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("spec: %w", err)
		}
		name, _ := token.(string)
		here := name
		if path != "" {
			here = key(path, name)
		}
		if seen[name] {
			return FieldError{Field: here, Detail: "is given twice"}
		}
		seen[name] = true
		child, known := fieldType(t, name)
		if !known {
			return FieldError{Field: here, Detail: "there is no such field"}
		}
		if err := checkShape(decoder, child, here, depth+1); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

// elem is the type behind pointers and of a list's entries; nil where the type holds none (the type is wrong then, and
// json.Unmarshal says so).
func elem(t reflect.Type) reflect.Type {
	t = indirect(t)
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldType is the type under a key. Keys of maps and of what has a wrong type are all known.
func fieldType(t reflect.Type, name string) (reflect.Type, bool) {
	t = indirect(t)
	if t == nil || t.Kind() != reflect.Struct {
		return elem(t), true
	}
	field, known := fieldsByName(t)[name]
	return field, known
}

// fieldTypes remembers what reflection found: reflect.Type → map[string]reflect.Type.
var fieldTypes sync.Map

// fieldsByName are the types of a struct's fields by their names in JSON, those of embedded structs among them.
func fieldsByName(t reflect.Type) map[string]reflect.Type {
	if cached, ok := fieldTypes.Load(t); ok {
		return cached.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" && tag != "-" {
			fields[tag] = field.Type
		}
	}
	fieldTypes.Store(t, fields)
	return fields
}

// describe puts json's type errors into a manifest's words.
func describe(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("spec: %w", err)
	}
	return FieldError{Field: wrong.Field, Detail: fmt.Sprintf("is %s, not %s", wantedWord(wrong.Type), wrong.Value)}
}

func wantedWord(t reflect.Type) string {
	switch indirect(t).Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a whole number"
}
