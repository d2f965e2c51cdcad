package verbs

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// checkRegistries refuses a second registry for one host: it would be undefined which token counts.
func checkRegistries(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	owners, skip := map[string]api.Ref{}, map[api.Ref]bool{}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	asked := false
	for _, object := range written {
		skip[object.Ref()] = true
		asked = asked || object.Kind == api.KindRegistry
	}
	if !asked {
		return
	}
	for object := range snap.Objects(api.KindRegistry) {
		if !skip[object.Value.Ref()] {
			owners[hostOf(*object.Value)] = object.Value.Ref()
		}
	}
	for _, object := range written {
		if object.Kind != api.KindRegistry {
			continue
		}
		host := hostOf(object)
		if owner, taken := owners[host]; taken {
			found.clash(RegistryTaken, owner, object.Ref(), "url", "change or delete one of them",
				"%s already declares %s", owner, host)
		}
		owners[host] = object.Ref()
	}
}

func hostOf(object api.Object) string {
	spec, err := api.DecodeSpec[api.RegistrySpec](object)
	if err != nil {
		return ""
	}
	return spec.Host()
}
