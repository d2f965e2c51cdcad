package verbs

import (
	"fmt"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/store/records"
)

// fixedPorts returns the ports of the host that the containers of an object occupy, none while it has no replicas; and
// of an ingress, and of the network between nodes, the one at which all nodes listen for it.
func fixedPorts(object api.Object) []ports.Port {
	switch object.Kind {
	case api.KindIngress:
		return ports.Listened(object)
	case api.KindNetwork:
		return ports.OfNetwork(object)
	}
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
// ports become free. It costs a few lookups for each port, and bounds how many ports one apply asks for.
func checkPorts(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	asked := map[api.Ref][]ports.Port{}
	numbers := map[int]bool{}
	total := 0
	skip := map[api.Ref]bool{}
	for _, object := range written {
		skip[object.Ref()] = true
		if !occupiesPorts(object.Kind) {
			continue
		}
		if object.Kind.HasSlots() {
			refuseShared(object, found)
		}
		fixed := fixedPorts(object)
		if total += len(fixed); total > maxAskedPorts {
			found.add(TooLarge, object.Ref(), "ports", "apply in smaller parts",
				"one apply asks for more than %d ports of the host", maxAskedPorts)
			return
		}
		asked[object.Ref()] = fixed
		for _, port := range fixed {
			numbers[port.Number] = true
		}
	}
	if total == 0 {
		return
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	var taken publishers
	for _, kind := range api.KindsThat(occupiesPorts) {
		for object := range snap.Objects(kind) {
			if !skip[object.Value.Ref()] && !object.Value.Metadata.Deleting() {
				taken.add(object.Value.Ref(), fixedPorts(*object.Value), numbers)
			}
		}
	}
	for _, object := range written {
		ref := object.Ref()
		refusePorts(object, asked[ref], &taken, found)
		taken.add(ref, asked[ref], numbers)
	}
}

// maxAskedPorts bounds the ports of the host that the objects of one apply publish together.
const maxAskedPorts = 1 << 16

func refusePorts(object api.Object, fixed []ports.Port, taken *publishers, found *faults) {
	var spec api.DeploymentSpec
	if object.Kind.HasSlots() {
		var err error
		if spec, err = api.DecodeSpec[api.DeploymentSpec](object); err != nil {
			return
		}
	}
	refused := map[string]bool{}
	for _, port := range fixed {
		if owner, ok := taken.Owner(port.Address(), port.Number, port.Protocol); ok {
			found.clash(PortTaken, owner, object.Ref(), port.Field, nextFree(object.Kind),
				"the host's port %s is taken by %s already", port, found.named(owner))
		}
		if object.Kind.HasSlots() && spec.MostReplicas() > 1 && !refused[port.Entry] {
			refused[port.Entry] = port.Entry != "" // a range fixes many
			refuseSeveral(object.Ref(), spec, port, found)
		}
	}
}

// refuseSeveral refuses a port of the host that several replicas would publish.
func refuseSeveral(ref api.Ref, spec api.DeploymentSpec, port ports.Port, found *faults) {
	replicas, fewer := fmt.Sprintf("%d replicas", spec.MostReplicas()), "have 1 replica"
	if spec.Autoscale != nil {
		replicas, fewer = "up to "+replicas+" (autoscale.max)", "have 1 replica without autoscale"
	}
	listen := strconv.Itoa(port.Number)
	if port.Protocol != "tcp" {
		listen += "/" + port.Protocol
	}
	what, next := fmt.Sprintf("the host's port %s", port), "leave the host's port out"
	if port.Entry != "" {
		what = fmt.Sprintf("the host's port of %q", port.Entry)
		next = fmt.Sprintf("write %q instead of %q", port.Unfixed(), port.Entry)
	}
	found.add(Invalid, ref, port.Field,
		fmt.Sprintf("%s, and declare an ingress with listen = %q, which leads to every pod; or %s", next, listen,
			fewer),
		"%s can't all publish %s", replicas, what)
}

// occupiesPorts reports whether objects of a kind can have ports of hosts for themselves.
func occupiesPorts(kind api.Kind) bool {
	return kind == api.KindIngress || kind == api.KindNetwork || kind.HasSlots()
}

// nextFree returns what to do where the port of an object is taken.
func nextFree(kind api.Kind) string {
	switch kind {
	case api.KindIngress:
		return "choose another port in listen, or take it from the other object first"
	case api.KindNetwork:
		return "choose another port, or take it from the other object first"
	}
	return "choose another port of the host, or none to get a free one"
}

// publishers are the ports of hosts that containers publish.
type publishers struct{ api.HostPorts[api.Ref] }

// add adds those of an owner's ports whose number is asked for.
func (p *publishers) add(owner api.Ref, fixed []ports.Port, numbers map[int]bool) {
	for _, port := range fixed {
		if numbers[port.Number] {
			p.Take(port.Address(), port.Number, port.Protocol, owner)
		}
	}
}
