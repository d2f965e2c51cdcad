package lab

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/store/records"
)

// accessURL returns where a running lab can be reached: at its host while a proxy listens, else at the first port that
// its node publishes.
func accessURL(s records.Snapshot, o observed, current *lab.Task) string {
	if route, routed := o.spec.Route(); routed {
		port, open := listenerPort(s)
		if !open {
			return ""
		}
		return "http://" + hostAndPort(strings.ToLower(route.Host), port)
	}
	if current == nil || current.Status == nil {
		return ""
	}
	for _, port := range current.Status.Ports {
		if port.Protocol == "tcp" && port.HostPort != 0 {
			return "http://" + net.JoinHostPort(reachable(s, current.Status.Node, port.HostIP),
				strconv.Itoa(port.HostPort))
		}
	}
	return ""
}

// reachable returns the address to use for one that a port is bound to: for all addresses of a node, the one that it
// has in the network.
func reachable(s records.Snapshot, node, bound string) string {
	if ip, err := netip.ParseAddr(bound); err == nil && !ip.IsUnspecified() {
		return bound
	}
	if at := s.NetworkNode(node); at.Exists() && at.Value.Address.IsValid() {
		return at.Value.Address.String()
	}
	return api.Loopback
}

// listenerPort returns the port at which a proxy takes requests; false if none listens.
func listenerPort(s records.Snapshot) (port string, open bool) {
	for _, node := range s.IngressNodes() {
		if _, port, err := net.SplitHostPort(node.Value.HTTP.Address); err == nil && node.Value.HTTP.Open &&
			s.Alive(node.Value.Node) {
			return port, true
		}
	}
	return "", false
}

// unserved is the reason why no proxy serves the host of a lab, and the step that helps.
type unserved struct{ why, next string }

// whyUnserved explains that listenerPort finds no port.
func whyUnserved(s records.Snapshot) unserved {
	nodes, off := s.IngressNodes(), 0
	for _, node := range nodes {
		switch listener := node.Value.HTTP; {
		case listener.Open && !s.Alive(node.Value.Node):
			return unserved{"node " + node.Value.Node + ", which has a proxy, does not answer",
				"start the agent of node " + node.Value.Node + ", or one with a proxy on another node (--ingress-http)"}
		case listener.Error != "":
			return unserved{"the proxy of node " + node.Value.Node + " can't listen: " + listener.Error,
				"stop what holds the port on that node, or start its agent with another (--ingress-http)"}
		case listener.Address == "":
			off++
		}
	}
	switch {
	case len(nodes) == 0:
		return unserved{"no node has a proxy", "start a server or an agent with a proxy (--ingress-http :80), or use ports in place of host"}
	case off == len(nodes):
		return unserved{"the proxies are off (--ingress-http off)",
			"start a server or an agent with --ingress-http :80, or use ports in place of host"}
	}
	return unserved{"no proxy listens yet", "if that stays so: tend nodes shows which nodes are down"}
}

func hostAndPort(host, port string) string {
	if port == "" || port == "0" || port == "80" {
		return host
	}
	return net.JoinHostPort(host, port)
}
