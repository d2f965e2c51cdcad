package manifest

import (
	"reflect"
	"strings"
	"sync"
)

// property is one field of an api struct, with its names in the languages.
type property struct {
	name     string // in JSON, YAML and field paths
	native   string // in HCL
	block    bool   // in HCL, written as a block
	label    bool   // in HCL, a label of the block
	required bool
	of       reflect.Type
	goName   string
	// declaredIn is the struct that declares the field: t itself, or one it embeds.
	declaredIn string
}

var propertyCache sync.Map // reflect.Type → []property

// properties reads the tags of an api struct.
func properties(t reflect.Type) []property {
	if cached, ok := propertyCache.Load(t); ok {
		return cached.([]property)
	}
	var out []property
	for _, f := range reflect.VisibleFields(t) { // an embedded struct has no tags, but its fields do
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		native, option, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		if name == "" || name == "-" || native == "" {
			continue
		}
		out = append(out, property{
			name: name, native: native, of: f.Type, goName: f.Name, declaredIn: declaring(t, f),
			block: option == "block", label: option == "label", required: option == "" || option == "label",
		})
	}
	propertyCache.Store(t, out)
	return out
}

// key returns the property's name in the language at hand.
func (p property) key(native bool) string {
	if native {
		return p.native
	}
	return p.name
}

// declaring returns the name of the struct that declares a visible field of t.
func declaring(t reflect.Type, f reflect.StructField) string {
	if len(f.Index) > 1 {
		t = t.FieldByIndex(f.Index[:len(f.Index)-1]).Type
	}
	return t.Name()
}
