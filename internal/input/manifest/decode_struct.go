package manifest

import (
	"fmt"
	"reflect"
	"slices"
)

// structure decodes the fields of one api struct.
func (d *decoder) structure(n *node, t reflect.Type, path string) map[string]any {
	known := properties(t)
	if n.kind != objectNode || (d.native && !n.block) {
		next := ""
		if d.native {
			next = "write it as a block: name { … }"
		}
		d.fail(n.at, path, next, "is a block, not %s", kindOf(n))
		return nil
	}
	out := map[string]any{}
	d.labels(n, known, path, out)
	given := map[string]span{}
	for _, f := range n.fields {
		i := slices.IndexFunc(known, func(p property) bool { return p.key(d.native) == f.key && !(d.native && p.label) })
		if i < 0 {
			d.unknown(f, known, path)
			continue
		}
		d.property(f, known[i], path, given, out)
	}
	for _, p := range known {
		if _, found := given[p.name]; p.required && !found && !(d.native && p.label) {
			d.fail(n.at, join(path, p.name), "", "is required")
		}
	}
	return out
}

// property decodes one field into out. Repeated blocks of one name become a list if the type is one.
func (d *decoder) property(f field, p property, path string, given map[string]span, out map[string]any) {
	here := join(path, p.name)
	first, twice := given[p.name]
	given[p.name] = f.at
	many := d.native && p.block && p.of.Kind() == reflect.Slice
	switch {
	case d.native && f.value.block && !p.block:
		d.fail(f.at, here, fmt.Sprintf("write %s = …", p.native), "is an attribute, not a block")
		return
	case d.native && !f.value.block && p.block && f.value.kind != nullNode:
		d.fail(f.at, here, fmt.Sprintf("write %s { … }", p.native), "is a block, not an attribute")
		return
	case twice && !many:
		d.fail(f.at, here, "keep one of them", "is given twice, first in line %d", d.src.position(first.start).Line)
		return
	case !many:
		if value := d.value(f.value, p.of, here); value != nil {
			out[p.name] = value
		}
		return
	}
	list, _ := out[p.name].([]any)
	if value := d.value(f.value, p.of.Elem(), fmt.Sprintf("%s[%d]", here, len(list))); value != nil {
		out[p.name] = append(list, value)
	}
}

// labels writes an HCL block's labels into the fields that they set.
func (d *decoder) labels(n *node, known []property, path string, out map[string]any) {
	if !d.native || path == "" {
		return
	}
	var wanted []property
	for _, p := range known {
		if p.label {
			wanted = append(wanted, p)
		}
	}
	switch {
	case len(n.labels) == len(wanted):
	case len(wanted) == 0:
		d.fail(n.labels[0].at, path, "take it out; what it says may be a field in the block", "takes no label, not %q",
			n.labels[0].text)
		return
	default:
		d.fail(n.at, path, fmt.Sprintf("write its %s in quotes before the brace", wanted[0].name), "takes %d label, not %d",
			len(wanted), len(n.labels))
		return
	}
	for i, p := range wanted {
		d.places[join(path, p.name)] = n.labels[i].at
		out[p.name] = n.labels[i].text
	}
}

func (d *decoder) unknown(f field, known []property, path string) {
	if d.faults.full() {
		return
	}
	var names []string
	for _, p := range known {
		if !(d.native && p.label) {
			names = append(names, p.key(d.native))
		}
	}
	what := "field"
	if d.native && f.value.block {
		what = "block"
	}
	d.lacking(f, path, d.nextFor(f, known, names), what)
}

// mostDeeper bounds how many blocks lie around a field that is suggested.
const mostDeeper = 3

// deeper returns the paths of the fields with a name in nested blocks, those with the fewest blocks above them.
func (d *decoder) deeper(name string, among []property, most int) (paths []string) {
	type block struct {
		path string
		of   []property
	}
	level := []block{{"", among}}
	for range most {
		var next []block
		for _, b := range level {
			for _, p := range b.of {
				if inner, is := structOf(p.of); is {
					next = append(next, block{join(b.path, p.key(d.native)), properties(inner)})
				}
			}
		}
		for _, b := range next {
			if slices.ContainsFunc(b.of, func(p property) bool { return p.key(d.native) == name && !(d.native && p.label) }) {
				paths = append(paths, join(b.path, name))
			}
		}
		if level = next; len(paths) > 0 {
			return paths
		}
	}
	return nil
}

func structOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, t.Kind() == reflect.Struct
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
