package main

import (
	"slices"
	"strings"
)

var methods = []string{"get", "put", "post", "delete", "head", "patch"}

// parser collects the parts that operations share.
type parser struct {
	problem typ // the body of errors; nil before the first
}

// operations returns the operations of all paths.
func (p *parser) operations(paths node) []operation {
	var out []operation
	for _, path := range paths.members() {
		path.only(methods...)
		for _, method := range path.members() {
			out = append(out, p.operation(method.node, path.key, method.key))
		}
	}
	return out
}

func (p *parser) operation(n node, path, method string) operation {
	n.only("operationId", "summary", "parameters", "requestBody", "responses")
	o := operation{id: n.need("operationId").text(), summary: n.get("summary").text(),
		method: strings.ToUpper(method), path: path}
	parseParameters(n.get("parameters"), &o)
	if n.has("requestBody") {
		o.body = parseBody(n.get("requestBody"))
	}
	p.responses(n.need("responses"), &o)
	return o
}

// parseParameters fills segments and query.
func parseParameters(n node, o *operation) {
	for _, item := range n.items() {
		item.only("name", "in", "required", "description", "explode", "schema")
		parameter := field{name: item.need("name").text(), doc: item.get("description").text(),
			is: parseType(item.need("schema")), optional: !item.get("required").truth()}
		if !isScalar(parameter.is) {
			item.get("schema").refuse("a parameter is a string, a number or a boolean")
		}
		if slices.ContainsFunc(o.parameters(), func(p field) bool { return p.name == parameter.name }) {
			item.refuse("two parameters have the name %s", parameter.name)
		}
		switch in := item.need("in"); in.text() {
		case "path":
			o.segments = append(o.segments, parameter)
		case "query":
			o.query = append(o.query, parameter)
		default:
			in.refuse("a parameter in %q is not understood", in.text())
		}
	}
	var ordered []field
	for _, name := range segmentNames(o.path) {
		at := slices.IndexFunc(o.segments, func(p field) bool { return p.name == name })
		if at < 0 {
			n.refuse("the path names {%s}, which is not described", name)
			continue
		}
		ordered = append(ordered, o.segments[at])
	}
	if len(ordered) != len(o.segments) {
		n.refuse("a parameter is not in the path %s", o.path)
	}
	o.segments = ordered
}

// isScalar reports whether a parameter can have the type: whether its value is one text in a URL.
func isScalar(is typ) bool {
	switch is := is.(type) {
	case primitive:
		return is != "null"
	case literals:
		return true
	}
	return false
}

// segmentNames returns the names in braces, in the order of the path.
func segmentNames(path string) []string {
	var names []string
	for _, part := range strings.Split(path, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		names = append(names, name)
	}
	return names
}

// parseBody returns the body of an operation: JSON, JSON or a text, or bytes.
func parseBody(n node) *body {
	n.only("required", "description", "content")
	if !n.get("required").truth() {
		n.refuse("a body that may be left out is not understood")
	}
	content := n.need("content")
	var b body
	for _, media := range content.members() {
		media.only("schema")
		described := media.need("schema")
		switch {
		case media.key == "application/json":
			b.json = parseType(described)
		case isBytes(described):
			b.bytes = media.key
		case b.text == "":
			b.text = media.key // the schema only describes the text
		default:
			media.refuse("a body in both %s and %s is not understood", b.text, media.key)
		}
	}
	if b.json == nil && b.bytes == "" || b.bytes != "" && (b.json != nil || b.text != "") {
		content.refuse("a body in JSON, in JSON or one kind of text, or in bytes is understood")
	}
	return &b
}

// isBytes reports whether a schema describes a body that isn't text.
func isBytes(n node) bool {
	if n.get("format").value != "binary" {
		return false
	}
	n.only("type", "format", "contentMediaType", "description")
	return n.get("type").text() == "string"
}
