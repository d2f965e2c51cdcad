package verbs

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/records"
)

// fixedPorts returns the ports of the host that the containers of an object occupy: none while it has no replicas.
func fixedPorts(object api.Object) []ports.Port {
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil || spec.ReplicaCount() == 0 {
		return nil
	}
	return ports.Fixed(spec)
}

// refuseShared refuses addresses given by flags to several replicas: only one container can have each.
func refuseShared(object api.Object, found *faults) {
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil || spec.MostReplicas() < 2 {
		return
	}
	options, err := dockerflags.Of(spec)
	if err != nil {
		return // validation reports it
	}
	for _, given := range []struct{ flag, value string }{
		{"--ip", options.IPv4}, {"--ip6", options.IPv6}, {"--mac-address", options.MACAddress},
	} {
		if given.value != "" {
			found.add(Invalid, object.Ref(), "docker_options", "leave the flag out or set replicas to 1",
				"%d replicas can't all have %s %s", spec.MostReplicas(), given.flag, given.value)
		}
	}
}

// checkPorts refuses written objects that fix a port of the host that another container publishes: one of another
// object, or of the same one if it has several replicas. Objects that are being deleted don't count, because their
// ports become free.
func checkPorts(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	asked := map[api.Ref][]ports.Port{}
	skip := map[api.Ref]bool{}
	for _, object := range written {
		skip[object.Ref()] = true
		if !object.Kind.HasSlots() {
			continue
		}
		refuseShared(object, found)
		if fixed := fixedPorts(object); len(fixed) > 0 {
			asked[object.Ref()] = fixed
		}
	}
	if len(asked) == 0 {
		return
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	taken := publishers{}
	for _, kind := range api.KindsThat(api.Kind.HasSlots) {
		for object := range snap.Objects(kind) {
			if !skip[object.Value.Ref()] && !object.Value.Metadata.Deleting() {
				taken.add(object.Value.Ref(), fixedPorts(*object.Value))
			}
		}
	}
	for _, object := range written {
		ref := object.Ref()
		refusePorts(object, asked[ref], taken, found)
		taken.add(ref, asked[ref])
	}
}

func refusePorts(object api.Object, fixed []ports.Port, taken publishers, found *faults) {
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil {
		return
	}
	for _, port := range fixed {
		if owner, ok := taken.owner(port); ok {
			found.add(PortTaken, object.Ref(), port.Field, "choose another port of the host, or none to get a free one",
				"the host's port %s is published by %s already", port, owner)
		}
		if spec.MostReplicas() > 1 {
			found.add(PortTaken, object.Ref(), port.Field,
				"leave the host's port out (\"80\" instead of \"3000:80\") or set replicas to 1",
				"%d replicas can't all publish the host's port %s", spec.MostReplicas(), port)
		}
	}
}

type publisher struct {
	ports.Port
	owner api.Ref
}

// publishers maps port numbers to the containers that publish them.
type publishers map[int][]publisher

func (p publishers) add(owner api.Ref, fixed []ports.Port) {
	for _, port := range fixed {
		p[port.Number] = append(p[port.Number], publisher{port, owner})
	}
}

func (p publishers) owner(port ports.Port) (api.Ref, bool) {
	for _, other := range p[port.Number] {
		if other.Clashes(port) {
			return other.owner, true
		}
	}
	return api.Ref{}, false
}
