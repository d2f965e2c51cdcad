package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"tend.dev/tend/api/pattern"
)

// decoder turns nodes into the canonical JSON value of an api type, for all three languages. It reports what it can't
// decode, and continues.
type decoder struct {
	src    *source
	faults *faults
	// native: the source is HCL, with other names, blocks and labels.
	native bool
	object string
	// places records where each field was written, by its path.
	places map[string]span
}

func (d *decoder) fail(at span, path, next, format string, args ...any) {
	if d.faults.full() {
		return
	}
	fault := d.src.diagnostic(at, fmt.Sprintf(format, args...), next)
	fault.Object, fault.Field = d.object, path
	d.faults.add(fault)
}

// lacking adds the error of a field that doesn't exist in the block at path.
func (d *decoder) lacking(f field, path, next, what string) {
	if d.faults.full() {
		return
	}
	fault := d.src.diagnostic(f.at, fmt.Sprintf("there is no %s %q", what, f.key), next)
	fault.Object, fault.Field, fault.Absent, fault.Within = d.object, joinKey(path, f.key), true, path
	d.faults.add(fault)
}

// value decodes n as a t. It returns nil for an absent value, and after it reported an error.
func (d *decoder) value(n *node, t reflect.Type, path string) any {
	if n.kind == nullNode {
		return nil
	}
	d.places[path] = n.at
	if n.kind == callNode {
		d.fail(n.at, path, "", "%s() is valid only in the files of an asset", n.text)
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		if object := d.structure(n, t, path); object != nil {
			return object
		}
	case reflect.Map:
		if object := d.dictionary(n, t, path); object != nil {
			return object
		}
	case reflect.Slice:
		return d.list(n, t, path)
	case reflect.String:
		return d.text(n, path)
	case reflect.Bool:
		return d.truth(n, path)
	case reflect.Int, reflect.Int64:
		return d.integer(n, path)
	case reflect.Interface:
		return d.free(n, path)
	}
	return nil
}

func (d *decoder) list(n *node, t reflect.Type, path string) any {
	if n.kind != listNode {
		d.fail(n.at, path, asList(path), "is a list, not %s", n.kind)
		return nil
	}
	out := make([]any, 0, len(n.items))
	for i, item := range n.items {
		here := fmt.Sprintf("%s[%d]", path, i)
		if item.kind == nullNode {
			d.fail(item.at, here, "leave it out", "is nothing")
			continue
		}
		if value := d.value(item, t.Elem(), here); value != nil {
			out = append(out, value)
		}
	}
	return out
}

func (d *decoder) dictionary(n *node, t reflect.Type, path string) map[string]any {
	if n.kind != objectNode || n.block {
		next := ""
		switch {
		case n.block:
			next = fmt.Sprintf("write %s = { … }", path)
		case d.native:
			next = "write { KEY = \"VALUE\" }"
		}
		d.fail(n.at, path, next, "is a table of keys and values, not %s", kindOf(n))
		return nil
	}
	out := map[string]any{}
	for _, f := range n.fields {
		here := joinKey(path, f.key)
		if f.value.kind == nullNode {
			d.fail(f.at, here, `write "" for an empty text, or leave the key out`, "has no value")
			continue
		}
		if value := d.value(f.value, t.Elem(), here); value != nil {
			out[f.key] = value
		}
	}
	return out
}

func kindOf(n *node) string {
	if n.block {
		return "a block"
	}
	return n.kind.String()
}

// text also accepts numbers and booleans, as they are written: env = { PORT = 80 }.
func (d *decoder) text(n *node, path string) any {
	switch n.kind {
	case textNode, numberNode, boolNode:
		return n.text
	}
	d.fail(n.at, path, "", "is text, not %s", kindOf(n))
	return nil
}

// truth also accepts the words in quotes: a variable in quotes is text.
func (d *decoder) truth(n *node, path string) any {
	if n.kind == boolNode || n.kind == textNode {
		switch n.text {
		case "true", "True", "TRUE":
			return true
		case "false", "False", "FALSE":
			return false
		}
	}
	d.fail(n.at, path, "", "is true or false, not %s", describeNode(n))
	return nil
}

var decimal = pattern.Lazy(`^-?(0|[1-9][0-9]*)$`)

func (d *decoder) integer(n *node, path string) any {
	if (n.kind == numberNode || n.kind == textNode) && decimal().MatchString(n.text) {
		if value, err := strconv.Atoi(n.text); err == nil {
			return json.Number(strconv.Itoa(value))
		}
		d.fail(n.at, path, "", "%s is too large", n.text)
		return nil
	}
	d.fail(n.at, path, "", "is a whole number, not %s", describeNode(n))
	return nil
}

func describeNode(n *node) string {
	if n.kind == listNode || n.kind == objectNode {
		return kindOf(n)
	}
	text := n.text
	if len(text) > 40 {
		text = text[:40] + "…"
	}
	return strconv.Quote(text)
}

var plainKey = pattern.Lazy(`^[A-Za-z0-9_-]+$`)

func joinKey(path, key string) string {
	switch {
	case !plainKey().MatchString(key):
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	}
	return path + "." + key
}
