package operation

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	"tend.dev/tend/internal/operator/engine"
)

// Type is the type of a parameter.
type Type string

// The types of parameters.
const (
	Text     Type = "a string"
	Bool     Type = "true or false"
	Integer  Type = "a whole number"
	Duration Type = "a duration such as 30d or 720h"
	Texts    Type = "a list of strings"
	TextMap  Type = "a map of strings"
	Object   Type = "an object"
	Objects  Type = "a list of objects"
)

// Field is the schema of a parameter.
type Field struct {
	// Type is its type.
	Type Type
	// Required says that the parameter must be given.
	Required bool
	// NotEmpty says that a string has at least one character.
	NotEmpty bool
	// Min is the smallest allowed number.
	Min int64
	// Enum lists the allowed strings. Nil allows all.
	Enum []string
	// Pattern must match the string. Nil allows all.
	Pattern *regexp.Regexp
	// Fields are the fields of an Object, or of each of Objects. Nil allows all.
	Fields map[string]Field
}

// checkObject returns the faults of an object. Fields that the schema doesn't have are refused.
func checkObject(path string, fields map[string]Field, values map[string]any) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field, known := fields[name]
		if !known {
			faults = append(faults, fmt.Errorf("%s.%s: there is no such parameter, there are %v", path, name, slices.Sorted(maps.Keys(fields))))
			continue
		}
		if err := field.check(path+"."+name, values[name]); err != nil {
			faults = append(faults, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, given := values[name]; fields[name].Required && !given {
			faults = append(faults, fmt.Errorf("%s.%s is required", path, name))
		}
	}
	return errors.Join(faults...)
}

func (f Field) check(path string, value any) error {
	wrong := fmt.Errorf("%s must be %s", path, f.Type)
	switch f.Type {
	case Text, Duration:
		s, ok := value.(string)
		if !ok {
			return wrong
		}
		return f.checkText(path, s)
	case Bool:
		if _, ok := value.(bool); !ok {
			return wrong
		}
	case Integer:
		n, ok := value.(float64)
		if !ok || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
			return wrong
		}
		if int64(n) < f.Min {
			return fmt.Errorf("%s must be at least %d", path, f.Min)
		}
	case Texts, Objects:
		return f.checkList(path, value, wrong)
	case TextMap, Object:
		values, ok := value.(map[string]any)
		if !ok {
			return wrong
		}
		return f.checkMap(path, values, wrong)
	}
	return nil
}

func (f Field) checkText(path, s string) error {
	switch {
	case f.NotEmpty && s == "":
		return fmt.Errorf("%s must not be empty", path)
	case len(f.Enum) > 0 && !slices.Contains(f.Enum, s):
		return fmt.Errorf("%s is %q, and must be one of %v", path, s, f.Enum)
	case f.Pattern != nil && !f.Pattern.MatchString(s):
		return fmt.Errorf("%s is %q, and must match %s", path, s, f.Pattern)
	case f.Type == Duration:
		if _, err := engine.Duration(s); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (f Field) checkList(path string, value any, wrong error) error {
	list, ok := value.([]any)
	if !ok {
		return wrong
	}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		element := Field{Type: Text}
		if f.Type == Objects {
			element = Field{Type: Object, Fields: f.Fields}
		}
		if err := element.check(at, item); err != nil {
			return err
		}
	}
	return nil
}

func (f Field) checkMap(path string, values map[string]any, wrong error) error {
	if f.Type == TextMap {
		for _, v := range values {
			if _, ok := v.(string); !ok {
				return wrong
			}
		}
		return nil
	}
	if f.Fields == nil {
		return nil
	}
	return checkObject(path, f.Fields, values)
}
