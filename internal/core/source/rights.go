package source

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/core/ports"
)

// Rights lists the privileges of a sync's source, or of a person. All refusals of a sync are decided here;
// docs/operate/security.md lists them.
//
// People who aren't users of the host may be able to change a source that is not trusted. It reaches neither the host
// nor the cluster, declares and names only what lies in its scopes, and changes only what it created. A person who
// isn't an admin has the same rights, but builds images, and changes what others created too.
type Rights struct {
	Trusted bool
	// Scopes limits the source to these scopes. For a trusted source or a person an empty list allows all scopes.
	Scopes []string
	// Person says whose rights they are, as in "alice is deployer"; empty for a sync.
	Person string
	// HostPaths are the folders of the host that a person's objects may mount: exactly these, since a container could put
	// a symbolic link below one.
	HostPaths []string
	// TendPorts are the ports at which servers say that they listen. Nobody else takes one without an admin's word.
	TendPorts []int
	// Stored is the object in question as it is stored: it keeps those of Tend's ports that it has. Nil if it has none.
	Stored *api.Object
}

// RightsOf returns the rights that a sync gives its source.
func RightsOf(spec api.SyncSpec) Rights { return Rights{Trusted: spec.Trusted, Scopes: spec.Scopes} }

const (
	nextAdmin  = "leave it out; or have an admin apply it"
	nextTrust  = "leave it out of the source, or set trusted if everyone who can change the source may use this machine"
	nextScopes = "name its scopes: scopes = [\"shop\"], or tend sync add --scope shop; or set trusted"
)

// notAllowed returns the fault of what the source may not do; next is the next step.
func notAllowed(next, format string, args ...any) *Error {
	return NewFault(api.ReasonNotAllowed, next, format, args...)
}

// Refuse returns why the source may not declare an object; nil if it may.
func (r Rights) Refuse(object api.Object) *Error {
	if all := r.RefuseAll(object); len(all) > 0 {
		return all[0]
	}
	return nil
}

// RefuseAll returns everything for which the source may not declare an object.
func (r Rights) RefuseAll(object api.Object) (all []*Error) {
	if fault := r.refuseKind(object); fault != nil {
		return []*Error{fault}
	}
	var spec api.WorkloadSpec
	if object.Kind.HasContainers() {
		var err error
		if spec, err = api.DecodeWorkload(object.Kind, object.Spec); err != nil {
			return []*Error{NewFault(api.ReasonInvalidManifests, "correct the manifest", "%s: %s", object.Ref(), err)}
		}
		if r.Person == "" && (spec.Build != nil || spec.Image == "") {
			return []*Error{notAllowed("build the image elsewhere, push it to a registry, and name it in image",
				"%s is built from source, and a sync builds nothing", object.Ref())}
		}
	}
	if r.Trusted {
		return nil
	}
	for _, p := range privileges {
		if p.uses(r.withoutHostPaths(spec), object.Scope) {
			all = append(all, r.untrusted(p.next, "%s: %s %s", object.Ref(), p.field, p.does))
		}
	}
	if host := hosts.Broad(object); host != "" {
		all = append(all, r.untrusted("name the domain that is yours, such as *.shop"+host[1:]+"; or have an admin apply it",
			"%s: host %s claims the names of a whole public domain", object.Ref(), host))
	}
	if at := publicListen(object); at != "" {
		all = append(all, r.untrusted("listen at 127.0.0.1; declare a host instead of listen; or set trusted",
			"%s: listen %s takes a port that others reach of every node", object.Ref(), at))
	}
	if fault := r.refuseHostname(object, spec); fault != nil {
		all = append(all, fault)
	}
	for _, taken := range ports.NewlyReserved(object, r.Stored, r.TendPorts) {
		all = append(all, r.untrusted("choose another port",
			"%s: %s: Tend itself listens at port %d", object.Ref(), taken.Field, taken.Number))
	}
	return append(all, r.refuseForeign(object, spec)...)
}

// untrusted returns the fault of what only a trusted source, or an admin, may do.
func (r Rights) untrusted(next, format string, args ...any) *Error {
	if r.Person != "" {
		return notAllowed(nextAdmin, format+", and "+r.Person, args...)
	}
	return notAllowed(next, format+", and the source is not trusted", args...)
}

// covers reports whether a scope is one of those that the source is limited to. A person without limits has all.
func (r Rights) covers(scope string) bool {
	return slices.Contains(r.Scopes, scope) || r.Person != "" && len(r.Scopes) == 0
}

// Sees reports whether the source, or the person, may know what is in a scope.
func (r Rights) Sees(scope string) bool { return r.Trusted || r.covers(scope) }

// refuseKind decides by the kind and the scope of an object, whatever is in it.
func (r Rights) refuseKind(object api.Object) *Error {
	ref, unscoped := object.Ref(), object.Kind.Info().Scope == api.ScopeNone
	switch {
	case r.Person != "":
		return r.refuseToPerson(object)
	case !object.Kind.Core():
		return notAllowed("put the objects that it stands for into the source (tend diff shows them)",
			"%s is a macro, and a sync runs no plugin", ref)
	case !r.Trusted && unscoped:
		return r.untrusted(nextTrust, "%s concerns the whole cluster", ref)
	case !r.Trusted && object.Kind.Delivered():
		return r.untrusted(nextTrust, "%s changes a Kubernetes cluster", ref)
	case !r.Trusted && len(r.Scopes) == 0:
		return notAllowed(nextScopes, "%s: the source is not trusted, and its sync names no scopes", ref)
	case len(r.Scopes) > 0 && !unscoped && !r.covers(ref.Scope):
		return notAllowed("leave it out of the source, or add the scope to scopes of the sync",
			"%s is outside of the source's scopes", ref)
	}
	return nil
}

// RefuseChange returns why a sync, as the field manager that it is, may not change an object that is stored; nil if it
// may.
func (r Rights) RefuseChange(stored api.Object, manager string) *Error {
	if r.Trusted || r.Person != "" || stored.Creator() == manager {
		return nil
	}
	return notAllowed("leave it out of the source; or delete the object, and the sync creates it; or set trusted",
		"%s was created by %s, and a source that is not trusted changes only what it created",
		stored.Ref(), stored.Creator())
}

// ChangesOnly returns the creator whose objects alone the declarer of an object may change, also by what the object
// does to others; empty for a declarer who may change what others created. It is RefuseChange for an object that is
// stored.
func ChangesOnly(declared api.Object) string {
	if by := declared.Creator(); declared.Confined() && by != api.ManagerApply {
		return by
	}
	return ""
}
