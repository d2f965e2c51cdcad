package source

import "tend.dev/tend/api"

// refuseHostname returns why the source may not give the containers of an object their hostname; nil if it may.
//
// The engine answers for a hostname to all containers of its networks, as for an alias, before it asks any name server,
// and all scopes share one network. So a hostname is a name of the scope's own, <label>.<scope> as aliases have it: any
// other one would stand in for a workload of another scope, for a server elsewhere, or, without a dot, for a service of
// a network that a neighbour also joins. A container without a network is reached by no name.
func (r Rights) refuseHostname(object api.Object, spec api.WorkloadSpec) *Error {
	if spec.Hostname == "" || spec.NetworkMode == "none" {
		return nil
	}
	if _, own := api.ScopeLabel(spec.Hostname, object.Scope); own {
		return nil
	}
	fault := r.untrusted("set trusted", "%s: hostname %s is a name by which containers of every scope would reach it",
		object.Ref(), spec.Hostname)
	if r.Person != "" {
		fault.Next = "have an admin apply it"
	}
	fault.Next = "write hostname = \"" + api.ServiceNames(object.Name, object.Scope)[0] + "\", or leave it out; or " +
		fault.Next
	return fault
}
