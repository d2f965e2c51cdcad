package spechash

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// deploymentV1 returns version 1: the included fields as declared, by their json names. A field that a spec leaves out
// is not in it, so a field that is added to the api later changes no hash until it is used.
func deploymentV1(spec api.DeploymentSpec, assets map[string]string) map[string]any {
	if len(spec.Networks) == 0 && spec.Network != "" {
		spec.Networks = []string{spec.Network}
	}
	declared := plain(spec)
	form := map[string]any{}
	for _, name := range includedV1 {
		if value, found := declared[name]; found {
			form[name] = value
		}
	}
	delete(form, "network")
	if build, found := form["build"].(map[string]any); found {
		form["build"] = map[string]any{"args": build["args"]}
		if build["args"] == nil {
			delete(form, "build")
		}
	}
	for _, name := range setsV1 {
		if list, found := form[name].([]any); found {
			form[name] = sorted(list)
		}
	}
	if len(assets) > 0 {
		form["assets"] = assetList(assets)
	}
	return form
}

// workloadV1 returns version 1 of any kind: a deployment's form, and the claims if there are any, by name. The size of
// a claim is only shown and reaches no container, so it doesn't count.
func workloadV1(spec api.WorkloadSpec, assets map[string]string) map[string]any {
	form := deploymentV1(spec.DeploymentSpec, assets)
	if len(spec.Claims) == 0 {
		return form
	}
	paths := make(map[string]any, len(spec.Claims))
	for _, claim := range spec.Claims {
		paths[claim.Name] = claim.MountPath
	}
	form["volume_claims"] = paths
	return form
}

// assetList returns a sorted list of reference=digest.
func assetList(assets map[string]string) []string {
	out := make([]string, 0, len(assets))
	for _, reference := range slices.Sorted(maps.Keys(assets)) {
		out = append(out, reference+"="+assets[reference])
	}
	return out
}

// plain returns a spec's JSON without its zero fields, empty lists and empty objects.
func plain(spec api.DeploymentSpec) map[string]any {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic("spechash: a spec holds plain values only: " + err.Error())
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		panic("spechash: " + err.Error())
	}
	prune(out)
	return out
}

// prune drops empty objects and lists; a block without content declares nothing. Empty texts stay: env = { A = "" }.
func prune(object map[string]any) {
	maps.DeleteFunc(object, func(_ string, value any) bool {
		switch v := value.(type) {
		case map[string]any:
			prune(v)
			return len(v) == 0
		case []any:
			for _, item := range v {
				if inner, ok := item.(map[string]any); ok {
					prune(inner)
				}
			}
			return len(v) == 0
		}
		return false
	})
}

// sorted returns a list of texts in order: the order in which a set was written must not count.
func sorted(list []any) []any {
	out := slices.Clone(list)
	slices.SortFunc(out, func(a, b any) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return out
}
