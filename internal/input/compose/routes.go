package compose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// siteGone is the finding about labels and variables from which no ingress could be made.
const siteGone = "This said at which address the site is served, and now nothing does; write an ingress (docs/use/kinds/ingress.md)"

// siteRoutes holds the routes that the labels of one service declare.
type siteRoutes struct {
	sites []site
	// used holds the labels that became part of an ingress, by their section of the file.
	used map[string]bool
	// outside is the proxy that reads the labels if it isn't in the file. It continues to route by them until it ends.
	outside string
}

// site is one host of a service.
type site struct {
	host  string
	by    labelled // the label that names it
	port  int      // of the containers; 0 leaves it to the ingress
	tls   *api.IngressTLS
	paths []api.IngressLocation
}

// labelled is a label with the key of the file that holds it.
type labelled struct{ name, value, at string }

// findRoutes reads the labels of Traefik and caddy-docker-proxy and the variables of nginx-proxy, which describe routes
// to services. It also finds those proxies: the ingresses replace them, and both want the same ports, so the proxies
// are left out.
func (c *converter) findRoutes() {
	c.routes, c.proxies, c.claimed = map[string]*siteRoutes{}, map[string]string{}, map[string]string{}
	c.readTraefik()
	made, there := map[string]bool{}, map[string]bool{}
	for _, s := range c.project.Services {
		there[imageBase(s.Image)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		labels := c.labelsOf(name)
		routes := &siteRoutes{used: map[string]bool{}}
		c.traefik(name, labels, routes)
		if len(routes.used) > 0 {
			routes.outside = outside(there, "traefik", "Traefik")
		}
		made["traefik"] = made["traefik"] || len(routes.sites) > 0
		before := len(routes.sites)
		c.caddy(name, labels, routes)
		if len(routes.sites) > before {
			made["caddy-docker-proxy"] = true
			routes.outside = outside(there, "caddy-docker-proxy", "Caddy")
		}
		before = len(routes.sites)
		if c.nginxProxy(name, routes); len(routes.sites) > before {
			for _, image := range nginxProxies {
				made[image] = true
			}
			routes.outside = outside(there, nginxProxies[0], "nginx-proxy")
		}
		if len(routes.used) > 0 {
			c.routes[name] = routes
		}
		if at := join("services", name) + ".deploy.labels"; routes.uses(at) {
			c.report.carryAll(at)
		}
	}
	c.leaveOut(made)
	c.oneTLS()
}

// labelsOf returns the labels of a service's containers, and those that Swarm gives the service.
func (c *converter) labelsOf(name string) (out []labelled) {
	s, at := c.project.Services[name], join("services", name)
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		out = append(out, labelled{key, s.Labels[key], at + ".labels"})
	}
	if s.Deploy != nil {
		for _, key := range slices.Sorted(maps.Keys(s.Deploy.Labels)) {
			out = append(out, labelled{key, s.Deploy.Labels[key], at + ".deploy.labels"})
		}
	}
	return out
}

// add adds a location to a service's sites. Each host has one site for each port of the containers.
func (r *siteRoutes) add(host string, next site, location *api.IngressLocation) {
	at := slices.IndexFunc(r.sites, func(s site) bool { return s.host == host && s.port == next.port })
	if at < 0 {
		next.host = host
		r.sites = append(r.sites, next)
		at = len(r.sites) - 1
	}
	r.secure(host, next.tls)
	s := &r.sites[at]
	if location == nil {
		location = &api.IngressLocation{Path: "/"}
	}
	same := func(l api.IngressLocation) bool { return l.Path == location.Path }
	if i := slices.IndexFunc(s.paths, same); i >= 0 {
		s.paths[i].Strip = s.paths[i].Strip || location.Strip
		return
	}
	s.paths = append(s.paths, *location)
}

// secure gives a TLS policy to the sites of a host, and reports whether there are any.
func (r *siteRoutes) secure(host string, tls *api.IngressTLS) (found bool) {
	for i := range r.sites {
		if r.sites[i].host == host {
			r.sites[i].tls = mergeTLS(r.sites[i].tls, tls)
			found = true
		}
	}
	return found
}

// mergeTLS returns the one policy of a host for which there are two.
func mergeTLS(a, b *api.IngressTLS) *api.IngressTLS {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &api.IngressTLS{Provider: cmp.Or(a.Provider, b.Provider), Email: cmp.Or(a.Email, b.Email)}
}

// oneTLS gives each host one TLS policy, whichever services serve it: Tend refuses a second one.
func (c *converter) oneTLS() {
	policies := map[string]*api.IngressTLS{}
	for _, name := range slices.Sorted(maps.Keys(c.routes)) {
		for _, s := range c.routes[name].sites {
			policies[s.host] = mergeTLS(policies[s.host], s.tls)
		}
	}
	for _, routes := range c.routes {
		for i := range routes.sites {
			routes.sites[i].tls = policies[routes.sites[i].host]
		}
	}
}

// takeRouteLabels removes from a deployment the labels, and the variables of nginx-proxy, that became ingresses.
func (c *converter) takeRouteLabels(u *unit, out *api.DeploymentSpec) {
	routes := c.routes[lastKey(u.at)]
	if routes == nil || routes.outside != "" {
		return
	}
	kept := map[string]string{}
	for name, value := range out.Labels {
		if !routes.used[u.at+".labels\x00"+name] {
			kept[name] = value
		}
	}
	if out.Labels = kept; len(kept) == 0 {
		out.Labels = nil
	}
	maps.DeleteFunc(out.Env, func(name, _ string) bool { return routes.used[u.at+".environment\x00"+name] })
	if len(out.Env) == 0 {
		out.Env = nil
	}
}

// addRoutes adds the ingresses of a service.
func (c *converter) addRoutes(u *unit, service string) error {
	routes := c.routes[service]
	if routes == nil {
		return nil
	}
	for _, s := range routes.sites {
		if err := api.CheckHost(s.host); err != nil {
			c.report.lost(s.by.at, Breaks, "%s. %s", err, siteGone)
			continue
		}
		if s.paths = c.claim(u, s); len(s.paths) == 0 {
			continue
		}
		own := *u
		own.name = c.ingressName(u.name)
		spec := api.IngressSpec{Host: s.host, Service: u.name, Port: s.port, TLS: s.tls}
		if own.name == u.name {
			spec.Service = "" // by default an ingress serves the workload of its own name
		}
		if len(s.paths) != 1 || s.paths[0].Path != "/" {
			spec.Locations = s.paths
		}
		own.place("host", s.by.at)
		own.place("locations", s.by.at)
		c.report.note(s.by.at, "became ingress/%s/%s, at %s://%s%s", c.scope, own.name, s.scheme(), s.host, routes.stay(s.by.at))
		c.steps.hosts = append(c.steps.hosts, s.host)
		if err := c.add(api.KindIngress, &own, spec); err != nil {
			return err
		}
	}
	return nil
}

// claim returns the locations of a site that no other site has. Tend refuses an apply with two that have one.
func (c *converter) claim(u *unit, s site) (free []api.IngressLocation) {
	to := u.name
	if s.port != 0 {
		to = fmt.Sprintf("port %d of %s", s.port, u.name)
	}
	for _, location := range s.paths {
		claim := s.host + location.Below()
		if other, taken := c.claimed[claim]; taken {
			c.noRoute(s.by, Breaks, "%s leads to %s already, and would lead to %s too: an ingress leads a path to one port of one workload",
				claim, other, to)
			continue
		}
		c.claimed[claim] = to
		free = append(free, location)
	}
	return free
}

func (s site) scheme() string {
	if s.tls != nil {
		return "https"
	}
	return "http"
}

// stay says that labels or variables stay with the containers, for the proxy outside of the file that reads them.
func (r *siteRoutes) stay(at string) string {
	switch {
	case r.outside == "" || strings.HasSuffix(at, ".deploy.labels"):
		return ""
	case strings.HasSuffix(at, ".environment"):
		return "; the variables stay, for an " + r.outside + " outside of the file"
	}
	return "; the labels stay, for a " + r.outside + " outside of the file"
}

// noRoute reports a label that can't be converted to an ingress.
func (c *converter) noRoute(l labelled, weight Weight, format string, args ...any) {
	found := Finding{Path: l.at, Weight: weight, Text: l.name + "=" + l.value + ": " + fmt.Sprintf(format, args...)}
	if !slices.Contains(c.report.findings[l.at], found) { // two routers may have one middleware
		c.report.findings[l.at] = append(c.report.findings[l.at], found)
	}
}

// use marks labels as part of an ingress.
func (r *siteRoutes) use(labels ...labelled) {
	for _, l := range labels {
		r.used[l.at+"\x00"+l.name] = true
	}
}

// uses reports whether a label under a key of the file became part of an ingress.
func (r *siteRoutes) uses(at string) bool {
	for key := range r.used {
		if strings.HasPrefix(key, at+"\x00") {
			return true
		}
	}
	return false
}

// hasPrefix returns the labels whose names begin with one of the prefixes.
func hasPrefix(labels []labelled, prefixes ...string) (out []labelled) {
	for _, l := range labels {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(strings.ToLower(l.name), p) }) {
			out = append(out, l)
		}
	}
	return out
}
