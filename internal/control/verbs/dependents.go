package verbs

import (
	"cmp"
	"encoding/json"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/store/records"
)

// dependents returns the objects that need another, with the field that says so. What uses the files of an asset is not
// among them: it keeps the asset from being deleted at all.
func dependents(snap records.Snapshot, needed api.Ref) []api.Dependent {
	var out []api.Dependent
	add := func(object *api.Object, field string) {
		if object != nil && object.Ref() != needed && !object.Metadata.Deleting() {
			out = append(out, api.Dependent{Ref: object.Ref(), Field: field})
		}
	}
	for _, object := range snap.Referring(needed) {
		for _, field := range referringFields(*object.Value, needed) {
			add(object.Value, field)
		}
	}
	for _, ref := range snap.Dependents(needed) {
		add(snap.Object(ref).Value, "depends_on")
	}
	if needed.Kind.Serves() {
		for object := range snap.Objects(api.KindIngress) {
			spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
			serves := err == nil && spec.ServiceName(object.Value.Name) == needed.Name
			if serves && object.Value.Scope == needed.Scope {
				add(object.Value, "service")
			}
		}
	}
	if needed.Kind.HasContainers() {
		bucket := env.Bucket{Scope: needed.Scope, Name: needed.Name}
		for object := range consumers(snap) {
			if env.ReadBy(*object.Value, bucket) {
				add(object.Value, "env_from")
			}
		}
	}
	slices.SortFunc(out, func(a, b api.Dependent) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.Field, b.Field))
	})
	return slices.Compact(out)
}

// referringFields returns the fields of an object that hold a ${ref.…} to another.
func referringFields(object api.Object, needed api.Ref) (fields []string) {
	var spec any
	if json.Unmarshal(object.Spec, &spec) != nil {
		return nil
	}
	reference.Walk(spec, func(path, text string) {
		for _, r := range api.References(text) {
			if r.Escaped || r.Space != api.SpaceRef || r.Check() != nil {
				continue
			}
			if target, _ := r.Target(object.Scope); target == needed {
				fields = append(fields, path)
			}
		}
	})
	return fields
}
