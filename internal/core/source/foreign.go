package source

import (
	"encoding/json"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/reference"
)

// refuseForeign refuses an object that names something of a scope outside of the source's: whose config or files it
// would read, or which it would keep from being deleted. Assets without a scope are for all.
func (r Rights) refuseForeign(object api.Object, spec api.WorkloadSpec) (all []*Error) {
	seen := map[named]bool{}
	for _, named := range namedBy(object, spec) {
		switch {
		case seen[named]:
		case r.covers(named.scope) || named.asset && named.scope == api.Unscoped:
		case r.Person != "":
			all = append(all, r.untrusted("", "%s: %s names the scope %s", object.Ref(), named.field, named.scope))
		default:
			all = append(all, notAllowed("refer only to the source's own scopes; or add the scope to scopes of the sync, or set trusted",
				"%s: %s names the scope %s, and the source is not trusted with it",
				object.Ref(), named.field, named.scope))
		}
		seen[named] = true
	}
	return all
}

// named is a scope that a field of an object names.
type named struct {
	field, scope string
	// asset: what is named is a file of an asset.
	asset bool
}

// namedBy returns every scope that an object refers to.
func namedBy(object api.Object, spec api.WorkloadSpec) (out []named) {
	for i, entry := range spec.EnvFrom {
		for _, bucket := range env.Sources(object.Ref(), []string{entry})[0].Buckets {
			out = append(out, named{field: fmt.Sprintf("env_from[%d]", i), scope: bucket.Scope})
		}
	}
	for i, needed := range api.Dependencies(object) {
		out = append(out, named{field: fmt.Sprintf("depends_on.workloads[%d]", i), scope: needed.Scope})
	}
	if spec.DependsOn != nil {
		for i, file := range spec.DependsOn.Assets {
			field, text := fmt.Sprintf("depends_on.assets[%d]", i), "${"+api.SpaceAsset+"."+file+"}"
			out = append(out, referred(object, field, text)...)
		}
	}
	if object.Kind == api.KindAsset {
		return out // its texts are files
	}
	var fields any
	if json.Unmarshal(object.Spec, &fields) == nil { // validation reports one that can't be read
		reference.Walk(fields, func(path, text string) { out = append(out, referred(object, path, text)...) })
	}
	return out
}

// referred returns the scopes of the references in a text.
func referred(object api.Object, path, text string) (out []named) {
	for _, r := range reference.Find(text) {
		if r.Check() != nil {
			continue // validation reports it
		}
		switch r.Space {
		case api.SpaceAsset:
			asset, _ := r.Asset(object.Scope)
			out = append(out, named{path, asset.Scope, true})
		case api.SpaceConfig:
			buckets, _ := env.OfReference(object.Ref(), nil, r)
			for _, bucket := range buckets {
				out = append(out, named{field: path, scope: bucket.Scope})
			}
		case api.SpaceRef:
			target, _ := r.Target(object.Scope)
			out = append(out, named{field: path, scope: target.Scope})
		}
	}
	return out
}
