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

// network converts the container's networks, hosts, addresses and ports.
func (c *converter) network(u *unit, out *api.Container) {
	r, at := c.report, u.at
	r.carry(at + ".network_mode")
	kind, of, shares := strings.Cut(u.NetworkMode, ":")
	switch {
	case u.NetworkMode == "", u.NetworkMode == "bridge", u.NetworkMode == "default":
	case u.NetworkMode == "host", u.NetworkMode == "none":
		out.NetworkMode = u.NetworkMode
	case shares && kind == "container":
		r.differs(at+".network_mode", "it shares the network of the container %s, which is not part of the manifests", of)
		u.flag(c, at+".network_mode", "--network="+u.NetworkMode)
		return // the container shares that one's names, hosts and addresses
	case shares && kind == "service":
		r.lost(at+".network_mode", Breaks,
			"it had the network of %s: its traffic went out there, and its ports were published there. Here it has one of its own; "+
				"put both programs into one image, or give %s a proxy that others go through", of, of)
	default:
		r.lost(at+".network_mode", Breaks,
			"Tend knows host and none; make the network with `docker network create` and write networks = [%q]", u.NetworkMode)
	}
	c.networks(u, out)
	r.carryAll(at+".extra_hosts", at+".dns")
	for _, host := range slices.Sorted(maps.Keys(u.ExtraHosts)) {
		for _, address := range u.ExtraHosts[host] {
			u.from("extra_hosts", at+".extra_hosts")
			out.ExtraHosts = append(out.ExtraHosts, host+":"+address)
		}
	}
	u.list("dns", "dns", len(u.DNS))
	out.DNS = u.DNS
	// Compose's containers find each other by the service's name. Tend's are called <name>.<scope>; with the scope as a
	// search domain the short name works too.
	if out.NetworkMode == "" && len(c.project.Services)+len(c.project.Jobs) > 1 {
		u.flag(c, u.at+".networks.default", "--dns-search="+c.searchDomain())
		u.flag(c, u.at+".networks.default", "--dns-option=ndots:1")
	}
}

// searchDomain returns the domain in which the names of the scope's workloads are whole.
func (c *converter) searchDomain() string {
	_, domain, _ := strings.Cut(api.ServiceNames("name", c.scope)[0], ".")
	return domain
}

// networks converts the joined networks that exist already. Every container joins tend0 anyway.
func (c *converter) networks(u *unit, out *api.Container) {
	r, at := c.report, u.at+".networks"
	r.carry(at, at+"[*]")
	var own []string
	for _, name := range slices.Sorted(maps.Keys(u.Networks)) {
		here, joined, network := join(at, name), u.Networks[name], c.project.Networks[name]
		r.carry(here)
		switch {
		case name == "default" && !bool(network.External):
		case bool(network.External):
			u.from("networks", here)
			out.Networks = append(out.Networks, network.Name)
		default:
			own = append(own, name)
		}
		if joined != nil && len(joined.Aliases) > 0 {
			r.carryAll(here + ".aliases")
		}
	}
	if len(own) > 0 {
		r.note(at, "%s: not joined, all containers meet on tend0", strings.Join(own, ", "))
	}
}

// ports returns the published ports: on every address, as with Compose, unless the file names one.
func (c *converter) ports(u *unit) []string {
	r, at := c.report, u.at+".ports"
	r.carry(at, at+"[*]", at+"[*].target", at+"[*].published", at+"[*].host_ip", at+"[*].protocol", at+"[*].mode")
	c.exposed(u)
	var out []string
	for i, port := range u.Ports {
		entry := portOf(port)
		if _, err := api.NormalizePort(entry); err != nil {
			r.lost(fmt.Sprintf("%s[%d]", at, i), Breaks, "%s: %s", entry, err)
			continue
		}
		u.from("ports", fmt.Sprintf("%s[%d]", at, i))
		out = append(out, entry)
	}
	if u.NetworkMode == "host" && len(out) > 0 {
		r.lost(at, Trifle, "with network_mode host the container has the machine's ports itself")
		return nil
	}
	return out
}

// exposed reports ports that other containers reach: they reach every port of each other.
func (c *converter) exposed(u *unit) {
	c.report.carry(u.at+".expose", u.at+".expose[*]")
	if len(u.Expose) > 0 {
		c.report.note(u.at+".expose", "%s: nothing to do, containers reach every port of each other",
			strings.Join(u.Expose, ", "))
	}
}

// portOf returns a published port as an entry of ports.
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

// sharedPorts removes single ports of the host from those of a service with several replicas. Proxies listen on them
// for all replicas.
func sharedPorts(service string, ports []string) (shared []api.IngressSpec, rest []string) {
	for _, entry := range ports {
		port, err := api.NormalizePort(entry)
		if err != nil || port.Host.Len() != 1 || port.Container.Len() != 1 ||
			len(service)+len("-65535-udp") > api.MaxNameBytes {
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

// portName returns the name of a port's ingress.
func portName(service string, at api.Listen) string {
	name := fmt.Sprintf("%s-%d", service, at.Port)
	if at.Protocol == api.ProtocolUDP {
		name += "-udp"
	}
	return name
}
