package docker

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"

	"tend.dev/tend/api"
)

// hostGateway is the name by which a container reaches its node; the engine resolves it.
const hostGateway = "host.docker.internal"

// networkMode returns a mode that excludes networks (host, none, bridge, container:…), or empty.
func (m *mapping) networkMode() string {
	if m.declared.NetworkMode == network.NetworkBridge { // the same as the default: the platform's network
		return m.options.NetworkMode
	}
	return first(m.declared.NetworkMode, m.options.NetworkMode)
}

// bridged reports whether the container has an address of its own.
func (m *mapping) bridged() bool {
	mode := m.networkMode()
	return mode != network.NetworkHost && mode != network.NetworkNone && !strings.HasPrefix(mode, "container:")
}

// networks joins the platform network first, then the declared ones in their order.
func (m *mapping) networks() error {
	m.HostConfig.Links = m.options.Links
	if mode := m.networkMode(); mode != "" {
		m.HostConfig.NetworkMode = container.NetworkMode(mode)
		return nil
	}
	m.HostConfig.NetworkMode = container.NetworkMode(m.machine.network)
	m.join(m.machine.network, m.spec.Aliases, nil)
	for _, name := range m.declaredNetworks() {
		m.join(name, nil, nil)
	}
	for _, wanted := range m.options.Networks {
		m.join(wanted.Name, wanted.Aliases, wanted.DriverOpts)
	}
	return m.address()
}

// declaredNetworks returns the networks besides the platform's, which may be declared by its own name or by its
// predecessor's.
func (m *mapping) declaredNetworks() []string {
	names := m.declared.Networks
	if len(names) == 0 && m.declared.Network != "" {
		names = []string{m.declared.Network}
	}
	return names
}

// join adds an endpoint, or extends the existing one.
func (m *mapping) join(name string, aliases []string, driverOpts map[string]string) {
	if name == api.Network || name == api.NetworkAlias {
		name = m.machine.network
	}
	at := slices.IndexFunc(m.endpoints, func(e endpoint) bool { return e.network == name })
	if at < 0 {
		m.endpoints = append(m.endpoints, endpoint{network: name, settings: &network.EndpointSettings{}})
		at = len(m.endpoints) - 1
	}
	settings := m.endpoints[at].settings
	settings.Aliases = together(settings.Aliases, aliases)
	if driverOpts != nil {
		settings.DriverOpts = driverOpts
	}
}

// address assigns each flag about a single network to that network: the first --network, else the platform network.
func (m *mapping) address() error {
	settings := m.endpoints[0].settings
	if len(m.options.Networks) > 0 {
		name := m.options.Networks[0].Name
		for _, e := range m.endpoints {
			if e.network == name {
				settings = e.settings
			}
		}
	}
	settings.Aliases = together(settings.Aliases, m.options.NetworkAliases)
	if mac := m.options.MACAddress; mac != "" {
		parsed, err := net.ParseMAC(mac)
		if err != nil {
			return invalid("docker_options --mac-address", err)
		}
		settings.MacAddress = network.HardwareAddr(parsed)
		m.legacy.MacAddress = mac
	}
	config, err := m.ipam()
	settings.IPAMConfig = config
	return err
}

func (m *mapping) ipam() (*network.EndpointIPAMConfig, error) {
	if m.options.IPv4 == "" && m.options.IPv6 == "" && len(m.options.LinkLocalIPs) == 0 {
		return nil, nil
	}
	config := &network.EndpointIPAMConfig{}
	var err error
	if m.options.IPv4 != "" {
		if config.IPv4Address, err = netip.ParseAddr(m.options.IPv4); err != nil {
			return nil, invalid("docker_options --ip", err)
		}
	}
	if m.options.IPv6 != "" {
		if config.IPv6Address, err = netip.ParseAddr(m.options.IPv6); err != nil {
			return nil, invalid("docker_options --ip6", err)
		}
	}
	config.LinkLocalIPs, err = addresses("docker_options --link-local-ip", m.options.LinkLocalIPs)
	return config, err
}

// ports publishes on loopback unless an entry names an address. A container without an address of its own publishes
// nothing.
func (m *mapping) ports() error {
	if !m.bridged() {
		return nil
	}
	m.Config.ExposedPorts, m.HostConfig.PortBindings = network.PortSet{}, network.PortMap{}
	m.HostConfig.PublishAllPorts = m.options.PublishAll
	for _, entry := range m.declared.Ports {
		port, err := api.NormalizePort(entry)
		if err != nil {
			return invalid("ports", err)
		}
		if err := m.publish(port); err != nil {
			return invalid("ports", err)
		}
	}
	for _, port := range m.options.Publish {
		if err := m.publish(port); err != nil {
			return invalid("docker_options --publish", err)
		}
	}
	for _, exposed := range m.options.Expose {
		port, err := network.ParsePort(exposed)
		if err != nil {
			return invalid("docker_options --expose", err)
		}
		m.Config.ExposedPorts[port] = struct{}{}
	}
	return nil
}

// publish expands ranges: each container port gets a host port, or one container port gets a free host port of the
// range.
func (m *mapping) publish(spec api.PortSpec) error {
	var address netip.Addr
	if spec.HostIP != "" {
		parsed, err := netip.ParseAddr(spec.HostIP)
		if err != nil {
			return err
		}
		address = parsed
	}
	for i := range spec.Container.Len() {
		port, err := network.ParsePort(fmt.Sprintf("%d/%s", spec.Container.First+i, spec.Protocol))
		if err != nil {
			return err
		}
		host := ""
		switch n := spec.Host.Len(); {
		case n == spec.Container.Len():
			host = strconv.Itoa(spec.Host.First + i)
		case n > 0:
			host = spec.Host.String()
		}
		m.Config.ExposedPorts[port] = struct{}{}
		m.HostConfig.PortBindings[port] = append(m.HostConfig.PortBindings[port],
			network.PortBinding{HostIP: address, HostPort: host})
	}
	return nil
}

// hosts sets the entries of the hosts file; a bridged container reaches its node by hostGateway unless it declares that
// name itself.
func (m *mapping) hosts() error {
	var hosts []string
	for _, host := range together(m.declared.ExtraHosts, m.options.ExtraHosts) {
		hosts = append(hosts, strings.NewReplacer("[", "", "]", "").Replace(host)) // older engines refuse IPv6 in brackets
	}
	declaresGateway := slices.ContainsFunc(hosts,
		func(host string) bool { return strings.HasPrefix(host, hostGateway+":") })
	if m.nodeNamed = m.bridged() && !declaresGateway; m.nodeNamed {
		hosts = append([]string{hostGateway + ":host-gateway"}, hosts...)
	}
	m.HostConfig.ExtraHosts = hosts
	m.HostConfig.DNSOptions, m.HostConfig.DNSSearch = m.options.DNSOptions, m.options.DNSSearch
	servers, err := addresses("dns", together(m.declared.DNS, m.options.DNS))
	m.HostConfig.DNS = servers
	return err
}

// reachNodeAt lets a container on the platform network reach its node at that network's gateway: the server listens for
// it there, and not at the engine's own default.
func (r *request) reachNodeAt(gateway netip.Addr) {
	if r.nodeNamed && gateway.IsValid() {
		r.HostConfig.ExtraHosts[0] = hostGateway + ":" + gateway.String()
	}
}

// resolveAt makes a container send its name queries to its node, unless it declares name servers of its own. The engine
// would answer names itself, but only for the containers of this node: so it gets no names.
func (r *request) resolveAt(gateway netip.Addr) {
	if len(r.HostConfig.DNS) > 0 || !gateway.IsValid() {
		return
	}
	r.HostConfig.DNS = []netip.Addr{gateway}
	for i, e := range r.endpoints {
		settings := *e.settings
		settings.Aliases = slices.DeleteFunc(slices.Clone(settings.Aliases),
			func(name string) bool { return slices.Contains(r.shared, name) })
		r.endpoints[i].settings = &settings
	}
}

func addresses(field string, texts []string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, text := range texts {
		parsed, err := netip.ParseAddr(text)
		if err != nil {
			return nil, invalid(field, err)
		}
		out = append(out, parsed)
	}
	return out, nil
}
