package intent

import (
	"net/netip"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/layout"
)

// hostPort is a port of the host a spec fixes.
type hostPort struct {
	ip    netip.Addr
	port  uint16
	proto string
	field string
}

func (p hostPort) String() string {
	return netip.AddrPortFrom(p.ip, p.port).String() + "/" + p.proto
}

// clashes says whether two containers can't publish both: the wildcard address takes every other.
func (p hostPort) clashes(other hostPort) bool {
	return p.port == other.port && p.proto == other.proto &&
		(p.ip == other.ip || p.ip.IsUnspecified() || other.ip.IsUnspecified())
}

// fixedPorts are the ports a spec fixes on the host. Entries without a host port, or with a range to choose one from,
// fix none; malformed ones are validation's business.
func fixedPorts(object api.Object) []hostPort {
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil || spec.NetworkMode != "" {
		return nil
	}
	var out []hostPort
	for i, entry := range spec.Ports {
		if parsed, err := api.NormalizePort(entry); err == nil {
			out = append(out, fixedBy(parsed, "ports["+strconv.Itoa(i)+"]")...)
		}
	}
	options, err := flagsOf(spec)
	if err != nil || options.NetworkMode == "host" {
		return out
	}
	for _, parsed := range options.Publish {
		out = append(out, fixedBy(parsed, "docker_options")...)
	}
	return out
}

// flagsOf reads docker_options; files of assets have stand-ins in them.
func flagsOf(spec api.DeploymentSpec) (dockerflags.Options, error) {
	flags := make([]string, len(spec.DockerOptions))
	for i, flag := range spec.DockerOptions {
		flags[i] = api.StandIn(flag)
	}
	return dockerflags.Parse(flags)
}

// fixedBy are the ports of one entry. The engine chooses where the host's range isn't as long as the container's.
func fixedBy(entry api.PortSpec, field string) []hostPort {
	if entry.Host.Len() != entry.Container.Len() {
		return nil
	}
	ip, err := netip.ParseAddr(entry.HostIP)
	if err != nil {
		ip = netip.IPv4Unspecified()
	}
	var out []hostPort
	for port := entry.Host.First; port <= entry.Host.Last; port++ {
		out = append(out, hostPort{ip: ip, port: uint16(port), proto: entry.Protocol, field: field})
	}
	return out
}

// refuseShared refuses addresses given by flags to several replicas: only one container can have each.
func refuseShared(object api.Object, found *faults) {
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil || spec.MostReplicas() < 2 {
		return
	}
	options, err := flagsOf(spec)
	if err != nil {
		return // validation's business
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

// checkPorts refuses written objects that fix a port of the host another container publishes: of another object, or of
// the same one when it has several replicas. Objects that are going don't count: their ports come free.
func checkPorts(snap layout.Snapshot, written []api.Object, going []layout.Read[api.Object], found *faults) {
	asked := map[api.Ref][]hostPort{}
	skip := map[api.Ref]bool{}
	for _, object := range written {
		skip[object.Ref()] = true
		if !object.Kind.HasSlots() {
			continue
		}
		refuseShared(object, found)
		if ports := fixedPorts(object); len(ports) > 0 {
			asked[object.Ref()] = ports
		}
	}
	if len(asked) == 0 {
		return
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	taken := publishers{}
	for _, kind := range []api.Kind{api.KindDeployment, api.KindStatefulSet} {
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

func refusePorts(object api.Object, ports []hostPort, taken publishers, found *faults) {
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil || len(ports) == 0 || spec.ReplicaCount() == 0 {
		return
	}
	for _, port := range ports {
		if owner, ok := taken.owner(port); ok {
			found.add(PortTaken, object.Ref(), port.field, "choose another port of the host, or none to get a free one",
				"the host's port %s is published by %s already", port, owner)
		}
		if spec.MostReplicas() > 1 {
			found.add(PortTaken, object.Ref(), port.field,
				"leave the host's port out (\"80\" instead of \"3000:80\") or set replicas to 1",
				"%d replicas can't all publish the host's port %s", spec.MostReplicas(), port)
		}
	}
}

type publisher struct {
	hostPort
	owner api.Ref
}

// publishers are who publishes what, by port number.
type publishers map[uint16][]publisher

func (p publishers) add(owner api.Ref, ports []hostPort) {
	for _, port := range ports {
		p[port.port] = append(p[port.port], publisher{port, owner})
	}
}

func (p publishers) owner(port hostPort) (api.Ref, bool) {
	for _, other := range p[port.port] {
		if other.clashes(port) {
			return other.owner, true
		}
	}
	return api.Ref{}, false
}
