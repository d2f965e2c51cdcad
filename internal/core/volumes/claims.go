package volumes

import (
	"strings"

	"tend.dev/tend/api"
)

// Claimed returns what the names of an object's own volumes begin with, by the name of the claim. An ordinal adds its
// number alone, so two objects can have a volume of one name only if they have one of these in common: scope, name and
// claim are joined by hyphens, which each of them may contain.
func Claimed(object api.Object) map[string]string {
	if object.Kind != api.KindStatefulSet {
		return nil
	}
	spec, err := api.DecodeSpec[api.StatefulSetSpec](object)
	if err != nil {
		return nil // validation reports it
	}
	out := make(map[string]string, len(spec.VolumeClaims))
	for _, claim := range spec.VolumeClaims {
		out[claim.Name] = strings.TrimSuffix(api.ClaimVolume(object.Ref(), claim.Name, 0), "0")
	}
	return out
}
