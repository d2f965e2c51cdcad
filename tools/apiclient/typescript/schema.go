package main

import (
	"maps"
	"slices"
	"strings"
)

const schemaPrefix = "#/components/schemas/"

// formats change nothing about the type in TypeScript: in JSON, a time is a string and an int64 is a number.
var formats = map[string][]string{
	"string":  {"date-time", "ip"},
	"integer": {"int32", "int64"},
	"number":  {"float", "double"},
}

// checks are keywords that the server checks, and that no type of TypeScript expresses.
var checks = []string{"minimum", "maximum", "minLength", "maxLength", "pattern"}

// parseType returns the type that a schema describes.
func parseType(n node) typ {
	object := n.object()
	switch {
	case len(object) == 0, len(object) == 1 && n.has("description"):
		return unknown{}
	case n.has("$ref"):
		n.only("$ref", "description")
		return parseReference(n.get("$ref"))
	case n.has("oneOf"):
		n.only("oneOf", "description")
		var alternatives union
		for _, one := range n.get("oneOf").items() {
			alternatives = append(alternatives, parseType(one))
		}
		return alternatives
	case !n.has("type"):
		n.refuse("want type, $ref or oneOf, not only %s", strings.Join(slices.Sorted(maps.Keys(object)), ", "))
		return unknown{}
	}
	kind, null := parseKind(n.get("type"))
	is := parseOfKind(n, kind)
	if null {
		return union{is, primitive("null")}
	}
	return is
}

func parseReference(n node) typ {
	name, ok := strings.CutPrefix(n.text(), schemaPrefix)
	if !ok {
		n.refuse("want a reference to %s…, not %q", schemaPrefix, n.text())
	}
	return named(name)
}

// parseKind returns the one type that a schema names, and whether null is allowed beside it.
func parseKind(n node) (kind string, null bool) {
	if _, ok := n.value.([]any); !ok {
		return n.text(), false
	}
	var kinds []string
	for _, item := range n.items() {
		if item.text() == "null" {
			null = true
		} else {
			kinds = append(kinds, item.text())
		}
	}
	if len(kinds) != 1 {
		n.refuse("want one type, or one and null, not %q", kinds)
		return "", null
	}
	return kinds[0], null
}

// parseOfKind returns the type of a schema whose "type" is kind.
func parseOfKind(n node, kind string) typ {
	understood := append([]string{"type", "description"}, checks...)
	switch kind {
	case "string":
		n.only(append(understood, "format", "enum")...)
		parseFormat(n, kind)
		if n.has("enum") {
			return parseLiterals(n.get("enum"))
		}
		return primitive("string")
	case "integer", "number":
		n.only(append(understood, "format")...)
		parseFormat(n, kind)
		return primitive("number")
	case "boolean":
		n.only("type", "description")
		return primitive("boolean")
	case "array":
		n.only("type", "description", "items")
		return array{parseType(n.need("items"))}
	case "object":
		return parseObject(n)
	}
	n.get("type").refuse("the type %q is not understood", kind)
	return unknown{}
}

func parseFormat(n node, kind string) {
	format := n.get("format")
	if format.value != nil && !slices.Contains(formats[kind], format.text()) {
		format.refuse("the format %q of a %s is not understood", format.text(), kind)
	}
}

func parseLiterals(n node) typ {
	var values literals
	for _, item := range n.items() {
		values = append(values, item.text())
	}
	if len(values) == 0 {
		n.refuse("an enum without values")
	}
	return values
}

// parseObject returns a record, or a table if the schema names no properties.
func parseObject(n node) typ {
	n.only("type", "description", "properties", "required", "additionalProperties")
	others := n.get("additionalProperties")
	closed := others.value == false
	if !n.has("properties") && !closed {
		if others.value == nil || others.value == true {
			return table{unknown{}}
		}
		return table{parseType(others)}
	}
	if !closed && others.value != nil && others.value != true {
		others.refuse("properties beside keys of another type are not understood")
	}
	return record{fields: parseFields(n), open: !closed}
}

func parseFields(n node) []field {
	if !n.has("properties") {
		return nil
	}
	properties := n.get("properties")
	var required []string
	for _, name := range n.get("required").items() {
		if !properties.has(name.text()) {
			name.refuse("there is no property %q", name.text())
		}
		required = append(required, name.text())
	}
	var fields []field
	for _, property := range properties.members() {
		fields = append(fields, field{name: property.key, doc: property.get("description").text(),
			is: parseType(property.node), optional: !slices.Contains(required, property.key)})
	}
	return fields
}
