package api

import (
	"fmt"
	"net/netip"
	"strings"

	"tend.dev/tend/api/pattern"
)

var hostName = pattern.Lazy(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?)*$`)

// CheckExtraHost checks name:ip, where ip is an address or the word host-gateway.
func CheckExtraHost(entry string) error {
	name, address, found := strings.Cut(entry, ":")
	if !found {
		return fmt.Errorf("%q is not name:ip", entry)
	}
	if len(name) > 253 || !hostName().MatchString(name) {
		return fmt.Errorf("%q is not a host name", name)
	}
	if address == "host-gateway" {
		return nil
	}
	if _, err := netip.ParseAddr(strings.Trim(address, "[]")); err != nil {
		return fmt.Errorf("%q is not an IP address (or host-gateway)", address)
	}
	return nil
}

var networkName = pattern.Lazy(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// network checks how the container is reached and what it reaches.
func (c *checker) network(s DeploymentSpec) {
	c.exclusiveNetwork(s)
	if s.Network != "" {
		c.addError("network", checkNetworkName(s.Network))
	}
	seen := map[string]int{}
	for i, name := range s.Networks {
		c.addError(index("networks", i), checkNetworkName(name))
		if first, twice := seen[name]; twice {
			c.add(index("networks", i), "%q is at networks[%d] already", name, first)
		}
		seen[name] = i
	}
	c.ports(s)
	c.aliases(s)
	if s.Hostname != "" && (len(s.Hostname) > 63 || !hostName().MatchString(s.Hostname)) {
		c.add("hostname", "%q is not a host name of at most 63 characters", s.Hostname)
	}
	c.each("extra_hosts", s.ExtraHosts, func(entry string) error {
		if hasReference(entry) {
			return nil
		}
		return CheckExtraHost(entry)
	})
	c.each("dns", s.DNS, func(entry string) error {
		if _, err := netip.ParseAddr(entry); err != nil {
			return fmt.Errorf("%q is not an IP address", entry)
		}
		return nil
	})
}

var aliasName = pattern.Lazy(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$`)

// CheckAlias checks a further name of a workload: one label of a DNS name, which may hold underscores.
func CheckAlias(alias string) error {
	if len(alias) > 63 || !aliasName().MatchString(alias) {
		return fmt.Errorf("%q is not a name of a-z, 0-9, - and _ with at most 63 characters; containers reach it as <alias>.<scope>", alias)
	}
	return nil
}

func (c *checker) aliases(s DeploymentSpec) {
	seen := map[string]int{}
	for i, alias := range s.Aliases {
		c.addError(index("aliases", i), CheckAlias(alias))
		if first, twice := seen[alias]; twice {
			c.add(index("aliases", i), "%q is at aliases[%d] already", alias, first)
		}
		seen[alias] = i
	}
	if len(s.Aliases) > 0 && (s.NetworkMode == "host" || s.NetworkMode == "none") {
		c.add("aliases", "are names of the container's own address, and with network_mode %s it has none", s.NetworkMode)
	}
}

func (c *checker) exclusiveNetwork(s DeploymentSpec) {
	c.oneOf("network_mode", s.NetworkMode, "host", "none", "bridge")
	own := s.NetworkMode == "host" || s.NetworkMode == "none"
	switch {
	case s.Network != "" && len(s.Networks) > 0:
		c.add("network", "and networks exclude each other; network is the older spelling of a list with one entry")
	case own && s.Network != "":
		c.add("network_mode", "and network exclude each other")
	case own && len(s.Networks) > 0:
		c.add("network_mode", "and networks exclude each other")
	case s.NetworkMode == "none" && len(s.Ports) > 0:
		c.add("ports", "can't be published with network_mode none: nothing reaches the container")
	}
}

func checkNetworkName(name string) error {
	switch {
	case name == "host" || name == "none":
		return fmt.Errorf("%q is a mode; write network_mode = %q", name, name)
	case !networkName().MatchString(name):
		return fmt.Errorf("%q is not a network's name", name)
	}
	return nil
}

// ports checks each entry, that no two want the same port of the host, and how many there are.
func (c *checker) ports(s DeploymentSpec) {
	var taken HostPorts[string]
	total := 0
	for i, entry := range s.Ports {
		if hasReference(entry) {
			continue
		}
		port, err := NormalizePort(entry)
		if err != nil {
			c.add(index("ports", i), "%q: %s", entry, err)
			continue
		}
		if total += max(port.Host.Len(), port.Container.Len()); total > MaxPublishedPorts {
			c.add("ports", "publish more than %d ports: name fewer, or use network_mode host", MaxPublishedPorts)
			return
		}
		for number := port.Host.First; number != 0 && number <= port.Host.Last; number++ {
			if other, clash := taken.Owner(port.HostIP, number, port.Protocol); clash {
				c.add(index("ports", i), "%q wants a port of the host that %s has already", entry, other)
				break
			}
		}
		for number := port.Host.First; number != 0 && number <= port.Host.Last; number++ {
			taken.Take(port.HostIP, number, port.Protocol, port.String())
		}
	}
}

func anyAddress(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
