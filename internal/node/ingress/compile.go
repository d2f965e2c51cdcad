package ingress

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/relay"
)

// Declared is a stored ingress.
type Declared struct {
	Ref     api.Ref
	Spec    api.IngressSpec
	Mode    Mode
	Message string
	Guest   bool // see Route.Guest
}

// Service is a workload that an ingress may lead to.
type Service struct {
	Spec api.DeploymentSpec
	Pods []Candidate
}

// Candidate is a pod of a Service.
type Candidate struct {
	Name string
	// Address is the container's address, Ports its published ports, as its node reported them.
	Address string
	Ports   []api.PortBinding
	// Relay is the address at which the pod's node accepts connections to the pod. Via is the relay's name for the pod,
	// without the port. Both are zero for a pod that is reached at its own address.
	Relay netip.AddrPort
	Via   relay.Target
	// Ready reports whether the pod may get requests: it is wanted, runs, and its probes pass.
	Ready bool
}

// Compile turns ingresses into routes. Their order depends only on the ingresses. service finds a workload of a scope
// by name; a missing workload has no pods.
func Compile(declared []Declared, service func(scope, name string) (Service, bool)) []Route {
	declared = slices.Clone(declared)
	slices.SortFunc(declared, func(a, b Declared) int { return cmp.Compare(a.Ref.String(), b.Ref.String()) })
	var out []Route
	for _, d := range declared {
		route := Route{
			Ingress: d.Ref, Host: hostname(d.Spec.Host), Path: "/", Secure: d.Spec.Secure(), Mode: d.Mode, Message: d.Message,
			Guest: d.Guest,
		}
		if d.Spec.Listen != "" {
			if route.Listen = d.Spec.ListensAt(); route.Listen.Port == 0 {
				continue // the ingress's controller reports the invalid spec
			}
			route.Path, route.Announce = "", d.Spec.ProxyProtocol
		}
		if d.Spec.LB != nil {
			route.Policy = d.Spec.LB.Policy
		}
		if serves, found := service(d.Ref.Scope, d.Spec.ServiceName(d.Ref.Name)); found {
			route.Pods = serves.ready(d.Spec.PortOf(serves.Spec), d.Spec.Protocol())
		}
		if len(d.Spec.Locations) == 0 {
			out = append(out, route)
		}
		for _, location := range d.Spec.Locations {
			route.Path, route.Strip = location.Below(), location.Strip
			out = append(out, route)
		}
	}
	return out
}

// ready returns the pods that may get requests, by name.
func (s Service) ready(port int, protocol string) []Pod {
	var out []Pod
	for _, c := range s.Pods {
		if pod := c.pod(port, protocol, s.Spec.NetworkMode); c.Ready && pod.Address != "" {
			out = append(out, pod)
		}
	}
	slices.SortFunc(out, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (c Candidate) pod(port int, protocol, networkMode string) Pod {
	if c.Via == (relay.Target{}) {
		return Pod{Name: c.Name, Address: c.Endpoint(port, protocol, networkMode)}
	}
	out := Pod{Name: c.Name, Via: c.Via}
	if protocol == api.ProtocolUDP {
		out.Via.Protocol = protocol
	}
	if out.Via.Port = port; c.Relay.IsValid() {
		out.Address = c.Relay.String()
	}
	return out
}

// Endpoint returns the address at which a pod listens, for proxies on its own node: the pod's address, or the host's if
// the pod shares the host's network or is a plain process, whose ports are the host's.
func (c Candidate) Endpoint(port int, protocol, networkMode string) string {
	host := c.Address
	switch {
	case networkMode == "host":
		host = api.Loopback
	case host == api.Loopback:
		port = c.published(port, protocol)
	}
	if host == "" {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// published returns the host's port for a container's port; a process that declared none was assigned one.
func (c Candidate) published(port int, protocol string) int {
	for _, binding := range c.Ports {
		if binding.Container == port && cmp.Or(binding.Protocol, api.ProtocolTCP) == protocol {
			return binding.HostPort
		}
	}
	if len(c.Ports) == 1 {
		return c.Ports[0].HostPort
	}
	return port
}
