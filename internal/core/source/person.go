package source

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
)

// RefuseScope returns why a person may not declare, change or prune an object at all, by its kind and scope; nil if the
// person may.
func (r Rights) RefuseScope(object api.Object) *Error { return r.refuseKind(object) }

// refuseToPerson decides by the kind and the scope of an object.
func (r Rights) refuseToPerson(object api.Object) *Error {
	switch ref := object.Ref(); {
	case r.Trusted:
		return nil
	case !object.Kind.Core():
		return r.untrusted("", "%s is a macro, which runs a plugin", ref)
	case object.Kind.Info().Scope == api.ScopeNone:
		return r.untrusted("", "%s concerns the whole cluster", ref)
	case object.Kind.Delivered():
		return r.untrusted("", "%s changes a Kubernetes cluster", ref)
	case ref.Scope == api.Unscoped:
		return r.untrusted("", "%s is for all scopes", ref)
	case !r.covers(ref.Scope):
		return r.untrusted("", "%s is in another scope", ref)
	}
	return nil
}

// RefuseCommand returns why a person may not run a command in a container of an object with a spec; nil if the person
// may. Such a command has whatever the container has: a folder of the host that an admin mounted is open to it.
// Published ports give it nothing, but for those of Tend's that an admin gave: it could answer there in Tend's place.
func (r Rights) RefuseCommand(object api.Object) *Error {
	if r.Trusted || !object.Kind.HasContainers() {
		return nil
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return NewFault(api.ReasonInvalidManifests, "correct the manifest", "%s: %s", object.Ref(), err)
	}
	for _, p := range privileges {
		if p.field != fieldPorts && p.uses(r.withoutHostPaths(spec), object.Scope) {
			return r.untrusted("", "%s: %s %s", object.Ref(), p.field, p.does)
		}
	}
	for _, taken := range ports.NewlyReserved(object, &object, r.TendPorts) {
		return r.untrusted("", "%s: %s: Tend itself listens at port %d", object.Ref(), taken.Field, taken.Number)
	}
	return nil
}

// withoutHostPaths returns a spec without the mounts of folders that the server lets everyone mount.
func (r Rights) withoutHostPaths(spec api.WorkloadSpec) api.WorkloadSpec {
	if len(r.HostPaths) == 0 {
		return spec
	}
	spec.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), func(entry string) bool {
		volume, err := api.ParseVolume(entry)
		return err == nil && slices.Contains(r.HostPaths, volume.Source)
	})
	return spec
}
