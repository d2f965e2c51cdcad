package compose

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// router holds the labels of one router of Traefik.
type router struct {
	name        string
	rule        labelled
	options     map[string]labelled // by the part of the label after the router's name
	middlewares []middleware
	redirect    bool // a middleware redirects to HTTPS
	strip       []stripped
}

// stripped is a prefix that a middleware takes off the path of a request.
type stripped struct {
	prefix string
	by     labelled
}

const (
	// speaksHTTP is the finding about pods that are to be asked over TLS.
	speaksHTTP = "an ingress speaks HTTP to its pods"
	// byDNS is the finding about certificates that need no way in from outside.
	byDNS = "certificates are obtained over HTTP, which has to reach the machine from outside; for DNS see " +
		"docs/use/kinds/ingress.md#certificates"
)

// traefik reads the labels of Traefik 2 and 3, and the rule of Traefik 1.
func (c *converter) traefik(service string, labels []labelled, routes *siteRoutes) {
	mine := hasPrefix(labels, "traefik.")
	if len(mine) == 0 {
		return
	}
	values := map[string]labelled{}
	for _, l := range mine {
		values[strings.ToLower(l.name)] = l
	}
	if !c.shared.reads(mine) {
		routes.use(mine...)
		if enable, given := values["traefik.enable"]; given {
			c.report.note(enable.at, "traefik.enable=%s: nothing outside reaches it, as before", enable.value)
		} else {
			c.report.note(mine[0].at, "Traefik reads only services with traefik.enable=true: nothing outside reaches it, as before")
		}
		return
	}
	c.traefik1(values, routes)
	for _, r := range c.routersOf(mine) {
		c.route(service, r, values, routes)
	}
	for _, l := range hasPrefix(mine, "traefik.tcp.", "traefik.udp.") {
		if strings.HasSuffix(l.name, ".rule") || strings.HasSuffix(l.name, ".entrypoints") {
			c.noRoute(l, Breaks,
				"it leads a port to this service; write an ingress with listen (docs/use/kinds/ingress.md#a-port-of-every-node)")
		}
	}
	if len(routes.sites) > 0 {
		if c.shared.constraints.name != "" {
			c.noRoute(c.shared.constraints, Breaks,
				"it chose the services that Traefik served, and each one with a rule has an ingress here: leave out the others")
		}
		c.balancer(hasPrefix(mine, "traefik.http.services."))
		routes.use(hasPrefix(mine, "traefik.enable", "traefik.docker.", "traefik.http.services.", "traefik.port",
			"traefik.backend", "traefik.swarm.")...)
	}
}

// routersOf collects the labels of routers, in the order of their names. One that only redirects comes after those that
// say what its host serves.
func (c *converter) routersOf(labels []labelled) (out []router) {
	byName := map[string]*router{}
	for _, l := range hasPrefix(labels, "traefik.http.routers.") {
		name, option, _ := strings.Cut(l.name[len("traefik.http.routers."):], ".")
		r := byName[name]
		if r == nil {
			r = &router{name: name, options: map[string]labelled{}}
			byName[name] = r
		}
		if option = strings.ToLower(option); option == "rule" {
			r.rule = l
		} else {
			r.options[option] = l
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r := byName[name]
		if r.rule.name == "" {
			first := r.options[slices.Min(slices.Collect(maps.Keys(r.options)))]
			c.noRoute(first, Breaks, "its router has no rule, so the defaultRule of Traefik is the one. %s", siteGone)
			continue
		}
		r.middlewares = c.shared.middlewaresOf(*r)
		r.redirect = slices.ContainsFunc(r.middlewares, middleware.redirects)
		out = append(out, *r)
	}
	slices.SortStableFunc(out, func(a, b router) int {
		return map[bool]int{true: 1}[c.onlyRedirects(a)] - map[bool]int{true: 1}[c.onlyRedirects(b)]
	})
	return out
}

// onlyRedirects reports whether a router serves nothing but redirects to HTTPS.
func (c *converter) onlyRedirects(r router) bool {
	_, secure := c.secured(r)
	return r.redirect && !secure
}

// route converts one router to sites.
func (c *converter) route(service string, r router, values map[string]labelled, routes *siteRoutes) {
	if to := r.options["service"]; strings.HasSuffix(to.value, "@internal") {
		c.noRoute(r.rule, Changes, "%s is Traefik's own, and is served no more", to.value)
		return
	}
	found, exact, err := placesOf(r.rule.value)
	switch {
	case err != nil && c.onlyRedirects(r):
		c.noRoute(r.rule, Trifle, "a host with TLS redirects by itself")
		return
	case err != nil:
		c.noRoute(r.rule, Breaks, "%s. %s", err, siteGone)
		return
	case !c.leadsHere(service, r, values):
		c.noRoute(r.rule, Breaks, "it leads to %s, which isn't this service. %s", r.options["service"].value, siteGone)
		return
	}
	c.middlewares(service, &r, routes)
	if resolver, _ := c.secured(r); c.shared.byDNS[strings.ToLower(resolver)].name != "" {
		c.noRoute(c.shared.byDNS[strings.ToLower(resolver)], Changes, byDNS)
	}
	next := site{by: r.rule, port: c.portOfRouter(service, r, values), tls: c.tlsOf(r)}
	for _, at := range found {
		if c.onlyRedirects(r) && routes.secure(at.host, next.tls) {
			continue
		}
		for _, location := range c.locations(at.path, r.strip) {
			routes.add(at.host, next, location)
		}
	}
	if len(exact) > 0 {
		c.noRoute(r.rule, Changes, "an ingress takes what is below %s, too", strings.Join(exact, ", "))
	}
	if others := c.shared.unknownEntries(r.options["entrypoints"].value); len(others) > 0 {
		c.noRoute(r.options["entrypoints"], Changes, "an ingress serves at the ports 80 and 443, whichever %s had",
			strings.Join(others, ", "))
	}
	routes.use(r.rule)
	for _, option := range slices.Sorted(maps.Keys(r.options)) {
		switch first, _, _ := strings.Cut(option, "."); {
		case option == "tls.options" && r.options[option].value != "default":
			c.noRoute(r.options[option], Breaks,
				"these options aren't in the labels; if they ask for a client's certificate, an ingress admits everyone without one")
		case slices.Contains([]string{"entrypoints", "tls", "service", "priority", "middlewares"}, first):
			routes.use(r.options[option])
		default:
			c.noRoute(r.options[option], Changes, "an ingress has no equivalent")
		}
	}
}

// secured returns the certificate resolver of a router, and whether the router serves HTTPS.
func (c *converter) secured(r router) (resolver string, secure bool) {
	for option, l := range r.options {
		switch {
		case option == "tls":
			secure = secure || !strings.EqualFold(l.value, "false")
		case option == "tls.certresolver":
			secure, resolver = true, l.value
		case strings.HasPrefix(option, "tls."):
			secure = true
		case option == "entrypoints":
			for name := range strings.SplitSeq(l.value, ",") {
				name = strings.TrimSpace(strings.ToLower(name))
				entry := c.shared.entries[name]
				resolver = cmp.Or(resolver, entry.resolver)
				secure = secure || entry.tls || name == "websecure" || name == "https" || name == "web-secure"
			}
		}
	}
	return resolver, secure
}

// tlsOf returns the TLS policy of a router's hosts. A router that only redirects to HTTPS takes the policy of the other
// router of its hosts.
func (c *converter) tlsOf(r router) *api.IngressTLS {
	resolver, secure := c.secured(r)
	if !secure && !r.redirect {
		return nil
	}
	return &api.IngressTLS{Email: c.shared.emails[strings.ToLower(resolver)]}
}

// leadsHere reports whether a router leads to the containers of the service that has its labels.
func (c *converter) leadsHere(service string, r router, values map[string]labelled) bool {
	to, named := r.options["service"]
	if !named {
		return true
	}
	name, provider, _ := strings.Cut(strings.ToLower(to.value), "@")
	if !ofLabels(provider) {
		return false
	}
	for label := range values {
		if strings.HasPrefix(label, "traefik.http.services."+name+".") {
			return true
		}
	}
	return name == Label(service)+"-"+Label(c.project.Name) // the name that Traefik gives to one without such labels
}

// portOfRouter returns the port of the containers that a router leads to; 0 leaves it to the ingress.
func (c *converter) portOfRouter(service string, r router, values map[string]labelled) int {
	names := []string{r.name}
	if l, named := r.options["service"]; named {
		name, _, _ := strings.Cut(l.value, "@")
		names = []string{name}
	} else {
		for _, name := range slices.Sorted(maps.Keys(values)) { // the only service of the labels is every router's
			if rest, of := strings.CutPrefix(name, "traefik.http.services."); of {
				first, _, _ := strings.Cut(rest, ".")
				names = append(names, first)
			}
		}
	}
	for _, name := range names {
		if n, err := strconv.Atoi(values[strings.ToLower("traefik.http.services."+name+
			".loadbalancer.server.port")].value); err == nil {
			return n
		}
	}
	return c.onlyPort(service)
}

// onlyPort returns the port that Traefik and Caddy use if none is named: the first port that the service publishes,
// else the one it exposes. It returns 0 if the ingress itself finds that port among those of the deployment.
func (c *converter) onlyPort(service string) int {
	s := c.project.Services[service]
	if len(s.Ports) > 0 {
		if several := s.Deploy != nil && s.Deploy.Replicas != nil && *s.Deploy.Replicas > 1 ||
			s.Scale != nil && *s.Scale > 1; several {
			return int(s.Ports[0].Target) // an ingress publishes the port, so the deployment has none
		}
		return 0
	}
	if len(s.Expose) == 0 {
		return 0
	}
	port, _, _ := strings.Cut(s.Expose[0], "/")
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

// balancer reports the settings of a service of Traefik that an ingress lacks.
func (c *converter) balancer(labels []labelled) {
	for _, l := range labels {
		_, option, _ := strings.Cut(strings.ToLower(l.name[len("traefik.http.services."):]), ".")
		switch {
		case option == "loadbalancer.server.port", option == "loadbalancer.server.scheme" && l.value != "https",
			option == "loadbalancer.passhostheader" && l.value == "true":
		case option == "loadbalancer.server.scheme":
			c.noRoute(l, Breaks, speaksHTTP)
		case strings.HasPrefix(option, "loadbalancer.sticky"):
			c.noRoute(l, Changes, "the requests of one client go to any pod; lb { policy = \"ip_hash\" } leads an address to one")
		case strings.HasPrefix(option, "loadbalancer.healthcheck."):
			c.noRoute(l, Changes, "an ingress asks no pod by itself; write a readiness probe")
		case strings.HasPrefix(option, "loadbalancer.") && option != "loadbalancer.server.url":
			c.noRoute(l, Changes, "an ingress has no equivalent")
		default:
			c.noRoute(l, Breaks, "it leads elsewhere than to this service alone, and an ingress leads to one workload")
		}
	}
}
