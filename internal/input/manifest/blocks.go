package manifest

import (
	"fmt"

	"tend.dev/tend/api"
)

// draftsOfBlocks decodes a file of blocks. Each block is an object: its type is the kind, its labels are the names.
func draftsOfBlocks(src *source, file *node, f *faults) []*draft {
	var out []*draft
	for _, block := range file.fields {
		if !block.value.block {
			f.at(src, block.at, fmt.Sprintf("put it into a block, such as %s \"scope\" \"name\" { … }", api.KindDeployment),
				"the attribute %q stands outside of any block", block.key)
			continue
		}
		if d := draftOfBlock(src, block, f); d != nil {
			out = append(out, objectsOf(d, f)...)
		}
	}
	return out
}

func draftOfBlock(src *source, block field, f *faults) *draft {
	kind := api.Kind(block.key)
	scope, name, ok := "", "", false
	switch {
	case kind.Core():
		scope, name, ok = blockNames(src, kind, block, f)
	case macroKind(block.key):
		scope, name, ok = macroNames(src, block, f)
	default:
		f.at(src, block.at, closestKind(block.key), "there is no kind %q, and no plugin can have the name", block.key)
	}
	if !ok {
		return nil
	}
	d := &draft{
		src: src, at: block.at, places: map[string]span{},
		object: api.Object{Kind: kind, Scope: scope, Name: name},
	}
	if !d.decodeSpec(block.value, true, f) {
		return keepBroken(d)
	}
	d.assumeBuild()
	if labels := block.value.labels; len(labels) > 0 {
		d.places["scope"], d.places["name"] = labels[0].at, labels[len(labels)-1].at
	}
	return d
}

// assumeBuild makes a block with neither image nor build one that is built from its project's folder, as the
// predecessor did. It applies only to HCL: the predecessor had no other language.
func (d *draft) assumeBuild() {
	if d.object.Kind.HasSlots() || d.object.Kind == api.KindApp {
		if d.spec["image"] == nil && d.spec["build"] == nil {
			d.spec["build"], d.assumed = map[string]any{}, true
		}
	}
}

// keepBroken keeps a refused draft for the search for duplicates, unless it has no spec type.
func keepBroken(d *draft) *draft {
	if d.object.Kind.Core() && !declarable(d.object.Kind) {
		return nil
	}
	d.broken = true
	return d
}

// blockNames reads a block's labels: its scope, where the kind has one, and its name.
func blockNames(src *source, kind api.Kind, block field, f *faults) (scope, name string, ok bool) {
	labels := block.value.labels
	least, most := 2, 2
	switch kind.Info().Scope {
	case api.ScopeNone:
		least, most = 1, 1
	case api.ScopeOptional:
		least = 1
	}
	if len(labels) < least || len(labels) > most {
		want := `two labels: ` + string(kind) + ` "scope" "name"`
		if most == 1 {
			want = `one label: ` + string(kind) + ` "name"`
		}
		f.at(src, block.at, "", "%s takes %s", kind, want)
		return "", "", false
	}
	name = labels[len(labels)-1].text
	switch {
	case len(labels) == 2:
		scope = labels[0].text
	case scopeless(kind):
		scope = api.Unscoped
	}
	return scope, name, true
}
