package ingress

import (
	"cmp"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/relay"
)

// Route maps the requests of one host below one path, or the traffic of one port, to pods.
type Route struct {
	// Ingress is the object that declares it: for logs and metrics, and as the key of the round-robin's position.
	Ingress api.Ref
	// Host is a lower-case DNS name; *.example.org is every name one label below example.org.
	Host string
	// Path is "/" or a path without a trailing slash. It matches itself and everything below it.
	Path string
	// Listen is the port whose connections or datagrams are passed on unchanged; such a route has neither host nor path.
	Listen api.Listen
	// Announce sends the client's address to the pods, by the PROXY protocol.
	Announce bool
	// Strip removes Path before the request is passed on.
	Strip bool
	// Guest is set if the host is another scope's, which shares it: the route doesn't match the paths of
	// api.IsProofPath, at which authorities check who has the host.
	Guest bool
	// Secure is set if the host is served with TLS: plain requests are redirected there.
	Secure bool
	// Mode reports whether requests are passed on; Message is the answer during maintenance.
	Mode    Mode
	Message string
	// Policy distributes requests over pods. Empty is round_robin.
	Policy string
	// Pods lists the pods that are ready now.
	Pods []Pod
}

// Mode is the way in which a route handles requests.
type Mode string

// The modes.
const (
	ModeServe       Mode = ""
	ModePaused      Mode = "paused"      // held until the route is resumed, or the hold time has passed
	ModeMaintenance Mode = "maintenance" // answered with 503 and a message
)

// Pod is one container that can serve.
type Pod struct {
	// Name is the pod's name: unique on the node.
	Name string
	// Address is the pod's ip:port, or that of its node's relay.
	Address string
	// Via is the target for the relay. The zero value uses no relay: the pod itself is at Address.
	Via relay.Target
}

// Table finds routes. It is immutable: a change makes a new table.
type Table struct {
	exact    map[string][]*Route // by host, longest path first
	wildcard map[string][]*Route // by what follows "*."
	ports    map[api.Listen]*Route
}

// NewTable sorts routes. Of two routes with the same host and path, or the same port, the first counts.
func NewTable(routes []Route) *Table {
	t := &Table{exact: map[string][]*Route{}, wildcard: map[string][]*Route{}, ports: map[api.Listen]*Route{}}
	for i := range routes {
		route := routes[i]
		if route.Listen != (api.Listen{}) {
			if t.ports[route.Listen] == nil {
				t.ports[route.Listen] = &route
			}
			continue
		}
		route.Path = cmp.Or(route.Path, "/")
		hosts, host := t.exact, route.Host
		if suffix, wild := strings.CutPrefix(route.Host, "*."); wild {
			hosts, host = t.wildcard, suffix
		}
		hosts[host] = append(hosts[host], &route)
	}
	for _, hosts := range []map[string][]*Route{t.exact, t.wildcard} {
		for _, list := range hosts {
			slices.SortStableFunc(list, func(a, b *Route) int { return cmp.Compare(len(b.Path), len(a.Path)) })
		}
	}
	return t
}

// Match returns the route of a request: a route of the host itself before one of a wildcard, and of those the one with
// the longest path. It returns nil if no route matches. A guest's route matches no path of api.IsProofPath.
func (t *Table) Match(host, path string) *Route {
	host = hostname(host)
	if routes, known := t.exact[host]; known {
		return longest(routes, path)
	}
	if _, parent, found := strings.Cut(host, "."); found {
		return longest(t.wildcard[parent], path)
	}
	return nil
}

func longest(routes []*Route, path string) *Route {
	proof := api.IsProofPath(path)
	for _, route := range routes {
		if below(path, route.Path) && !(proof && route.Guest) {
			return route
		}
	}
	return nil
}

// below reports whether a path is the prefix itself or lies below it: /api matches /api and /api/v1, not /apis.
func below(path, prefix string) bool {
	if prefix == "/" {
		return true
	}
	rest, found := strings.CutPrefix(path, prefix)
	return found && (rest == "" || rest[0] == '/')
}

// hostname returns a Host header without its port, in lower case and without a trailing dot.
func hostname(host string) string {
	if strings.HasPrefix(host, "[") {
		address, _, _ := strings.Cut(host[1:], "]")
		return address
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// each calls fn for every route.
func (t *Table) each(fn func(*Route)) {
	for _, route := range t.ports {
		fn(route)
	}
	for _, hosts := range []map[string][]*Route{t.exact, t.wildcard} {
		for _, list := range hosts {
			for _, route := range list {
				fn(route)
			}
		}
	}
}
