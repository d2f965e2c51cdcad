package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/suggest"
)

// A block of a kind that isn't Tend's own is a macro: the plugin of that name returns the objects that replace it. Its
// body becomes JSON by its form alone: a nested block becomes an object, a repeated one a list of objects, its labels a
// list under _labels, and every value of env a text. Fields that Tend knows keep their usual form: plugin names the
// plugin's source, and on_probe always holds lists of webhooks.
var knownInMacros = map[string]reflect.Type{
	api.MacroPlugin: reflect.TypeFor[api.PluginSource](),
	"on_probe":      reflect.TypeFor[api.ProbeHooks](),
}

const labelsKey = "_labels"

// macroKind reports whether a word can be a macro's kind: it has the form of one, and is not a typo of one of Tend's
// kinds.
func macroKind(word string) bool {
	kind := api.Kind(word)
	return kind.Macro() && !slipOf(word)
}

// slipOf reports whether a word is one of Tend's longer kinds with up to two wrong letters.
func slipOf(word string) bool {
	return slices.ContainsFunc(api.Kinds, func(kind api.Kind) bool {
		return len(kind) >= 6 && suggest.Distance(word, string(kind)) <= 2
	})
}

// macroNames returns a macro's scope and name. A single label is the name; without a label the macro is named like its
// kind.
func macroNames(src *source, block field, f *faults) (scope, name string, ok bool) {
	labels := block.value.labels
	switch len(labels) {
	case 0:
		return "", block.key, true
	case 1:
		return "", labels[0].text, true
	case 2:
		return labels[0].text, labels[1].text, true
	}
	f.at(src, block.at, "", `%s takes at most two labels: %s "scope" "name"`, block.key, block.key)
	return "", "", false
}

// macro decodes a macro's body.
func (d *decoder) macro(n *node, path string) map[string]any {
	if n.kind != objectNode {
		d.fail(n.at, path, "", "is an object, not %s", n.kind)
		return nil
	}
	out := map[string]any{}
	if len(n.labels) > 0 {
		labels := make([]any, len(n.labels))
		for i, label := range n.labels {
			labels[i] = label.text
		}
		out[labelsKey] = labels
	}
	blocks := map[string][]any{}
	for _, f := range n.fields {
		here := joinKey(path, f.key)
		d.places[here] = f.value.at
		if _, given := out[f.key]; given {
			d.fail(f.at, here, "keep one of them", "is given twice")
			continue
		}
		known, isKnown := knownInMacros[f.key]
		switch {
		case path == "" && f.key == api.MacroPlugin && f.value.kind == objectNode && (f.value.block || !d.native):
			out[f.key] = d.pluginBlock(f.value, here)
		case path == "" && isKnown && f.value.kind == objectNode && (f.value.block || !d.native):
			if value := d.value(f.value, known, here); value != nil {
				out[f.key] = value
			}
		case f.value.block:
			blocks[f.key] = append(blocks[f.key], d.macro(f.value, here))
		default:
			out[f.key] = d.macroValue(f.value, f.key, here)
		}
	}
	for key, values := range blocks {
		switch _, given := out[key]; {
		case given:
			d.fail(n.at, joinKey(path, key), "keep one of them", "is given as an attribute and as a block")
		case len(values) == 1:
			out[key] = values[0]
		default:
			out[key] = values
		}
	}
	return out
}

// pluginBlock decodes the block that names the plugin of a macro. Its other fields are for the plugin.
func (d *decoder) pluginBlock(n *node, path string) map[string]any {
	ours := *n
	ours.fields = nil
	rest := *n
	rest.fields = nil
	for _, f := range n.fields {
		slip := func(p property) bool { return suggest.Distance(p.name, f.key) <= 2 } // a typo of a field is reported
		if slices.ContainsFunc(properties(knownInMacros[api.MacroPlugin]), slip) {
			ours.fields = append(ours.fields, f)
		} else {
			rest.fields = append(rest.fields, f)
		}
	}
	out := d.macro(&rest, path)
	known, _ := d.value(&ours, knownInMacros[api.MacroPlugin], path).(map[string]any)
	maps.Copy(out, known)
	return out
}

// macroValue decodes an attribute by its form. Environments hold texts.
func (d *decoder) macroValue(n *node, key, path string) any {
	if key == "env" && n.kind == objectNode {
		texts := map[string]any{}
		for _, f := range n.fields {
			if scalar := f.value; scalar.kind == textNode || scalar.kind == numberNode || scalar.kind == boolNode {
				texts[f.key] = scalar.text
			} else {
				texts[f.key] = d.free(scalar, joinKey(path, f.key))
			}
		}
		return texts
	}
	if n.kind == objectNode {
		return d.macro(n, path)
	}
	if n.kind == listNode {
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = d.macroValue(item, "", fmt.Sprintf("%s[%d]", path, i))
		}
		return out
	}
	return d.free(n, path)
}
