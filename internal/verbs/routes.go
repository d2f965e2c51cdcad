package verbs

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// checkRoutes refuses written ingresses that claim a host and path another ingress has. Objects that are being deleted
// don't count.
func checkRoutes(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	skip := map[api.Ref]bool{}
	asking := false
	for _, object := range written {
		skip[object.Ref()] = true
		asking = asking || object.Kind == api.KindIngress
	}
	if !asking {
		return
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	taken := map[string]api.Ref{}
	for object := range snap.Objects(api.KindIngress) {
		if !skip[object.Value.Ref()] && !object.Value.Metadata.Deleting() {
			for _, route := range routesOf(*object.Value) {
				taken[route] = object.Value.Ref()
			}
		}
	}
	for _, object := range written {
		for _, route := range routesOf(object) {
			if owner, has := taken[route]; has && owner != object.Ref() {
				found.add(RouteTaken, object.Ref(), "host", "choose another host or another path, or delete the other ingress first",
					"%s is served by %s already", route, owner)
			}
			taken[route] = object.Ref()
		}
	}
}

// routesOf returns the hosts with paths an object claims; only ingresses claim any.
func routesOf(object api.Object) []string {
	if object.Kind != api.KindIngress {
		return nil
	}
	spec, err := api.DecodeSpec[api.IngressSpec](object)
	if err != nil {
		return nil // validation reports it
	}
	return spec.Routes()
}
