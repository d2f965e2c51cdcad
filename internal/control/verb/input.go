package verb

import (
	"net/url"
	"reflect"
	"strconv"
	"time"
)

// Parameter is a field of an input.
type Parameter struct {
	// Name is the name in the query, Doc its text in the API's description.
	Name, Doc string
	Required  bool
	// Flag is the flag that sets it, Help its help. Default: the command sets it, or nothing does.
	Flag, Help string
	// Field is its index, Type its type: a bool, a number, a text or a duration.
	Field int
	Type  reflect.Type
}

// Parameters returns the fields of an input: `query:"for" required:"true" doc:"…" flag:"for" help:"…"`.
func Parameters(input reflect.Type) (out []Parameter) {
	for i := range input.NumField() {
		tag, field := input.Field(i).Tag, input.Field(i)
		out = append(out, Parameter{
			Name: tag.Get("query"), Doc: tag.Get("doc"), Required: tag.Get("required") != "", Flag: tag.Get("flag"),
			Help: tag.Get("help"), Field: i, Type: field.Type,
		})
	}
	return out
}

var duration = reflect.TypeFor[time.Duration]()

// Encode returns an input, a pointer to its struct, as a query. Fields that are zero are left out, unless they are
// required.
func Encode(input any) url.Values {
	in, out := reflect.ValueOf(input).Elem(), url.Values{}
	for _, p := range Parameters(in.Type()) {
		if field := in.Field(p.Field); p.Required || !field.IsZero() {
			out.Set(p.Name, text(field))
		}
	}
	return out
}

func text(field reflect.Value) string {
	switch {
	case field.Type() == duration:
		return time.Duration(field.Int()).String()
	case field.Kind() == reflect.Bool:
		return strconv.FormatBool(field.Bool())
	case field.CanInt():
		return strconv.FormatInt(field.Int(), 10)
	}
	return field.String()
}

// Fault is an error of one parameter.
type Fault struct{ Name, Detail string }

// Decode reads a query into an input, a pointer to its struct. A parameter without a value is left out.
func Decode(query url.Values, input any) (faults []Fault) {
	in := reflect.ValueOf(input).Elem()
	known := map[string]bool{}
	for _, p := range Parameters(in.Type()) {
		known[p.Name] = true
		value := query.Get(p.Name)
		switch {
		case value == "" && p.Required:
			faults = append(faults, Fault{p.Name, "required query parameter is missing"})
		case value != "":
			if detail := set(in.Field(p.Field), value); detail != "" {
				faults = append(faults, Fault{p.Name, detail})
			}
		}
	}
	var unknown []Fault
	for name := range query {
		if !known[name] {
			unknown = append(unknown, Fault{name, "unknown query parameter"})
		}
	}
	if len(unknown) > 0 {
		return unknown
	}
	return faults
}

// set sets a field, or returns what is wrong with the text.
func set(field reflect.Value, text string) string {
	switch {
	case field.Type() == duration:
		value, err := time.ParseDuration(text)
		if err != nil {
			return "is not a duration such as 30m or 1h30m"
		}
		field.SetInt(int64(value))
	case field.Kind() == reflect.Bool:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return "invalid boolean"
		}
		field.SetBool(value)
	case field.CanInt():
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "invalid integer"
		}
		field.SetInt(value)
	default:
		field.SetString(text)
	}
	return ""
}
