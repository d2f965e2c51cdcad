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
		asking = asking || len(routesOf(object)) > 0
	}
	if !asking {
		return
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	taken := map[string]api.Ref{}
	for _, kind := range []api.Kind{api.KindIngress, api.KindLab} {
		for object := range snap.Objects(kind) {
			if !skip[object.Value.Ref()] && !object.Value.Metadata.Deleting() && !over(snap, object.Value.Ref()) {
				for _, route := range routesOf(*object.Value) {
					taken[route] = object.Value.Ref()
				}
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

// over reports whether an object is a lab that has ended: its host is free.
func over(snap records.Snapshot, ref api.Ref) bool {
	return ref.Kind == api.KindLab && snap.LabStatus(ref).Exists() && snap.LabStatus(ref).Value.Phase.Ended()
}

// routesOf returns the hosts with paths an object claims; only ingresses, and labs with a host, claim any.
func routesOf(object api.Object) []string {
	switch object.Kind {
	case api.KindLab:
		spec, _ := api.DecodeSpec[api.LabSpec](object) // validation reports what can't be read
		if route, routed := spec.Route(); routed {
			return route.Routes()
		}
		return nil
	case api.KindIngress:
	default:
		return nil
	}
	spec, err := api.DecodeSpec[api.IngressSpec](object)
	if err != nil {
		return nil // validation reports it
	}
	return spec.Routes()
}
