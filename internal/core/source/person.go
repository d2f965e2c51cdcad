package source

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
)

// RightsOfContainers returns the rights of an object's containers, by the token with which they call the server: those
// of a deployer of its scope who has none about the host, whatever the object has. Who may replace its image gets the
// token, and an object that an admin gives a folder of the host keeps the one that it had before.
func RightsOfContainers(ref api.Ref) Rights {
	return Rights{Person: "containers of " + ref.String() + " act as a deployer", Scopes: []string{ref.Scope}}
}

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

// RefuseTaking returns why a person, or a source, may not take away what a stored object has: all that only an admin
// gives its containers. Without it, what the object keeps is another program's. Ports are given up freely.
func (r Rights) RefuseTaking(stored api.Object) (out []*Error) {
	if r.Trusted || !stored.Kind.HasContainers() {
		return nil
	}
	spec, err := api.DecodeWorkload(stored.Kind, stored.Spec)
	if err != nil {
		return nil // a version to come may write what this one can't read
	}
	if !r.covers(stored.Scope) { // a sync's scopes may change; what an object reads in its own scope, no admin gave it
		r.Scopes = append(slices.Clone(r.Scopes), stored.Scope)
	}
	var all []*Error
	for _, p := range privileges {
		if p.field != fieldPorts && p.uses(r.withoutHostPaths(spec), stored.Scope) {
			all = append(all, r.untrusted("", "%s: %s %s", stored.Ref(), p.field, p.does))
		}
	}
	for _, fault := range append(all, r.refuseForeign(stored, spec)...) {
		fault.Next = "ask an admin to apply it"
		fault.Message = stored.Ref().String() + ": as it is stored, " +
			strings.TrimPrefix(fault.Message, stored.Ref().String()+": ")
		out = append(out, fault)
	}
	return out
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
