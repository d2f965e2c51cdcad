package compose

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// network converts how the container is reached and what it can reach.
func (c *converter) network(u *unit, out *api.Container) {
	r, at := c.report, u.at
	r.carry(at + ".network_mode")
	switch u.NetworkMode {
	case "", "bridge", "default":
	case "host", "none":
		out.NetworkMode = u.NetworkMode
	default:
		r.lost(at+".network_mode", "Tend knows host and none")
	}
	c.networks(u, out)
	r.carryAll(at+".extra_hosts", at+".dns")
	for _, host := range slices.Sorted(maps.Keys(u.ExtraHosts)) {
		for _, address := range u.ExtraHosts[host] {
			out.ExtraHosts = append(out.ExtraHosts, host+":"+address)
		}
	}
	out.DNS = u.DNS
	// Compose's containers find each other by the service's name. Tend's are called <name>.<scope>; with the scope as a
	// search domain the short name works too.
	if out.NetworkMode == "" && len(c.project.Services) > 1 {
		u.flag(c, u.at+".networks.default", "--dns-search="+c.scope)
		u.flag(c, u.at+".networks.default", "--dns-option=ndots:1")
	}
}

// networks converts the joined networks that exist already. Every container joins tend0 anyway.
func (c *converter) networks(u *unit, out *api.Container) {
	r, at := c.report, u.at+".networks"
	r.carry(at)
	index := map[string]int{}
	for i, name := range slices.Sorted(maps.Keys(u.Networks)) {
		index[name] = i
	}
	r.carry(at + "[*]")
	for _, name := range slices.Sorted(maps.Keys(u.Networks)) {
		here, joined, network := join(at, name), u.Networks[name], c.project.Networks[name]
		r.carry(here)
		switch {
		case name == "default" && !bool(network.External):
		case bool(network.External):
			out.Networks = append(out.Networks, network.Name)
		default:
			r.note(at, "%s is not joined; all containers meet on tend0", name)
		}
		if joined == nil {
			continue
		}
		r.carryAll(here + ".aliases")
		for _, alias := range joined.Aliases {
			u.flag(c, here+".aliases", "--network-alias="+alias)
		}
	}
}

// ports returns the published ports: on every address, as with Compose, unless the file names one.
func (c *converter) ports(u *unit) []string {
	r, at := c.report, u.at+".ports"
	r.carry(at, at+"[*]", at+"[*].target", at+"[*].published", at+"[*].host_ip", at+"[*].protocol", at+"[*].mode")
	r.carry(u.at+".expose", u.at+".expose[*]") // containers on one network reach every port of each other
	var out []string
	for i, port := range u.Ports {
		entry := portOf(port)
		if _, err := api.NormalizePort(entry); err != nil {
			r.lost(fmt.Sprintf("%s[%d]", at, i), "%s: %s", entry, err)
			continue
		}
		out = append(out, entry)
	}
	if u.NetworkMode == "host" && len(out) > 0 {
		r.lost(at, "with network_mode host the container has the machine's ports itself")
		return nil
	}
	return out
}

func portOf(p types.ServicePortConfig) string {
	address := p.HostIP
	switch {
	case address == "":
		address = "0.0.0.0"
	case slices.Contains([]byte(address), ':'):
		address = "[" + address + "]"
	}
	entry := fmt.Sprintf("%s:%s:%d", address, p.Published, p.Target)
	if p.Protocol != "" && p.Protocol != "tcp" {
		entry += "/" + p.Protocol
	}
	return entry
}

// sharedPorts takes single ports of the host out of those of a service with several replicas. The proxies listen there for all of them.
func sharedPorts(service string, ports []string) (shared []api.IngressSpec, rest []string) {
	for _, entry := range ports {
		port, err := api.NormalizePort(entry)
		if err != nil || port.Host.Len() != 1 || port.Container.Len() != 1 || len(service)+len("-65535-udp") > api.MaxNameBytes {
			rest = append(rest, entry)
			continue
		}
		listen := strings.TrimPrefix(net.JoinHostPort(port.HostIP, port.Host.String()), "0.0.0.0:")
		if port.Protocol != api.ProtocolTCP {
			listen += "/" + port.Protocol
		}
		if _, err := api.ParseListen(listen); err != nil {
			rest = append(rest, entry)
			continue
		}
		shared = append(shared, api.IngressSpec{Listen: listen, Service: service, Port: port.Container.First})
	}
	return shared, rest
}

// portName returns what the ingress of a port is called.
func portName(service string, at api.Listen) string {
	name := fmt.Sprintf("%s-%d", service, at.Port)
	if at.Protocol == api.ProtocolUDP {
		name += "-udp"
	}
	return name
}

// networkAdvice says what stands in the place of a network that the Compose file makes. The network between nodes is one for the whole
// cluster, with what other scopes may reach, so it is no part of what one application declares.
func networkAdvice(network types.NetworkConfig) string {
	advice := `all workloads meet on tend0; declare network "tend0" for several nodes, and to keep scopes apart (docs/kinds/network.md)`
	if network.Driver == "overlay" {
		return advice
	}
	return fmt.Sprintf("%s; or, on one machine alone, make it with `docker network create %s` and write networks = [%q] where it matters", advice, network.Name, network.Name)
}
