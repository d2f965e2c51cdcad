package compose

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// router holds the labels of one router of Traefik.
type router struct {
	name     string
	rule     labelled
	options  map[string]labelled // by the part of the label after the router's name
	redirect bool
	strip    []string
}

// traefik reads the labels of Traefik 2 and 3, and the rule of Traefik 1.
func (c *converter) traefik(service string, labels []labelled, routes *siteRoutes, emails map[string]string) {
	mine := hasPrefix(labels, "traefik.")
	if len(mine) == 0 {
		return
	}
	values := map[string]labelled{}
	for _, l := range mine {
		values[strings.ToLower(l.name)] = l
	}
	if strings.EqualFold(values["traefik.enable"].value, "false") {
		routes.use(mine...)
		c.report.note(values["traefik.enable"].at, "traefik.enable=false: nothing outside reaches it, as before")
		return
	}
	c.traefik1(values, routes)
	for _, r := range routersOf(mine) {
		c.route(service, r, mine, values, routes, emails)
	}
	for _, l := range hasPrefix(mine, "traefik.tcp.", "traefik.udp.") {
		if strings.HasSuffix(l.name, ".rule") || strings.HasSuffix(l.name, ".entrypoints") {
			c.noRoute(l, Breaks,
				"it leads a port to this service; write an ingress with listen (docs/use/kinds/ingress.md#a-port-of-every-node)")
		}
	}
	if len(routes.sites) > 0 {
		routes.use(hasPrefix(mine, "traefik.enable", "traefik.docker.", "traefik.http.services.", "traefik.port",
			"traefik.backend", "traefik.swarm.")...)
	}
}

// routersOf collects the labels of routers, in the order of their names.
func routersOf(labels []labelled) (out []router) {
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
		if byName[name].rule.name != "" {
			out = append(out, *byName[name])
		}
	}
	return out
}

// route converts one router to sites.
func (c *converter) route(
	service string, r router, mine []labelled, values map[string]labelled, routes *siteRoutes, emails map[string]string,
) {
	found, exact, err := placesOf(r.rule.value)
	if err != nil {
		c.noRoute(r.rule, Breaks, "%s. %s", err, siteGone)
		return
	}
	c.middlewares(&r, mine, routes)
	next := site{at: r.rule.at, port: c.portOfRouter(service, r, values), tls: r.tls(emails)}
	for _, at := range found {
		var location *api.IngressLocation
		if at.path != "" && at.path != "/" {
			location = &api.IngressLocation{Path: at.path, Strip: slices.Contains(r.strip, at.path)}
		}
		routes.add(at.host, next, location)
	}
	if len(exact) > 0 {
		c.noRoute(r.rule, Changes, "an ingress takes what is below %s, too", strings.Join(exact, ", "))
	}
	routes.use(r.rule)
	for _, option := range slices.Sorted(maps.Keys(r.options)) {
		switch first, _, _ := strings.Cut(option, "."); first {
		case "entrypoints", "tls", "service", "priority", "middlewares":
			routes.use(r.options[option])
		default:
			c.noRoute(r.options[option], Changes, "an ingress has no equivalent")
		}
	}
}

// tls returns the TLS policy of a router's hosts. A router that only redirects to HTTPS takes the policy of the other
// router of its hosts.
func (r router) tls(emails map[string]string) *api.IngressTLS {
	resolver, secure := "", r.redirect
	for option, l := range r.options {
		switch {
		case option == "tls":
			secure = secure || !strings.EqualFold(l.value, "false")
		case option == "tls.certresolver":
			secure, resolver = true, l.value
		case strings.HasPrefix(option, "tls."):
			secure = true
		case option == "entrypoints":
			for _, name := range strings.Split(l.value, ",") {
				name = strings.TrimSpace(strings.ToLower(name))
				secure = secure || name == "websecure" || name == "https" || name == "web-secure"
			}
		}
	}
	if !secure {
		return nil
	}
	return &api.IngressTLS{Email: emails[strings.ToLower(resolver)]}
}

// portOfRouter returns the port of the containers that a router leads to; 0 leaves it to the ingress.
func (c *converter) portOfRouter(service string, r router, values map[string]labelled) int {
	names := []string{r.name}
	if l, named := r.options["service"]; named {
		names = []string{strings.TrimSuffix(l.value, "@docker")}
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

// middlewares converts the middlewares that an ingress has too: a redirect to HTTPS, and a stripped prefix. It reports
// all others; one that asks for a password has the weight Breaks, since the site would be open.
func (c *converter) middlewares(r *router, mine []labelled, routes *siteRoutes) {
	for _, name := range strings.Split(r.options["middlewares"].value, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		plain := strings.TrimSuffix(name, "@docker")
		options := hasPrefix(mine, strings.ToLower("traefik.http.middlewares."+plain+"."))
		if len(options) == 0 {
			c.noRoute(r.options["middlewares"], Changes,
				"the middleware %s isn't defined in these labels, so it isn't converted", name)
			continue
		}
		for _, l := range options {
			rest := strings.ToLower(l.name[len("traefik.http.middlewares.")+len(plain)+1:])
			switch {
			case strings.HasPrefix(rest, "redirectscheme."):
				r.redirect = r.redirect || strings.HasSuffix(rest, ".scheme") && l.value == "https"
				routes.use(l)
			case rest == "stripprefix.prefixes":
				for _, prefix := range strings.Split(l.value, ",") {
					r.strip = append(r.strip, strings.TrimSpace(prefix))
				}
				routes.use(l)
			case strings.HasPrefix(rest, "compress"):
				routes.use(l)
				c.noRoute(l, Trifle, "an ingress doesn't change answers")
			case strings.Contains(rest, "auth"), strings.HasPrefix(rest, "ipallowlist"), strings.HasPrefix(rest, "ipwhitelist"):
				c.noRoute(labelled{l.name, "…", l.at}, Breaks,
					"it required a login, and an ingress admits everyone; let the program require one, or put a proxy in front of it")
			default:
				c.noRoute(l, Changes, "an ingress has no equivalent")
			}
		}
	}
}

// traefik1 reads the rule of Traefik 1: Host:a.example,b.example;PathPrefix:/x.
func (c *converter) traefik1(values map[string]labelled, routes *siteRoutes) {
	rule, there := values["traefik.frontend.rule"]
	if !there {
		return
	}
	var hosts, paths []string
	strip := false
	for part := range strings.SplitSeq(rule.value, ";") {
		name, list, _ := strings.Cut(strings.TrimSpace(part), ":")
		var entries []string
		for entry := range strings.SplitSeq(list, ",") {
			entries = append(entries, strings.TrimSpace(entry))
		}
		switch name {
		case "Host":
			hosts = entries
		case "PathPrefix", "PathPrefixStrip":
			paths, strip = entries, name == "PathPrefixStrip"
		default:
			c.noRoute(rule, Breaks, "an ingress has no %s. %s", name, siteGone)
			return
		}
	}
	if len(hosts) == 0 {
		c.noRoute(rule, Breaks, "it names no host. %s", siteGone)
		return
	}
	port, _ := strconv.Atoi(values["traefik.port"].value)
	for _, host := range hosts {
		next := site{at: rule.at, port: port}
		if len(paths) == 0 {
			routes.add(strings.ToLower(host), next, nil)
		}
		for _, path := range paths {
			routes.add(strings.ToLower(host), next, &api.IngressLocation{Path: path, Strip: strip})
		}
	}
	c.noRoute(rule, Changes, "it becomes plain HTTP; for HTTPS add tls {} to the ingress")
	routes.use(rule)
}

// certificateEmails returns the address of each certificate resolver of a Traefik in the file, by its name.
func (c *converter) certificateEmails() map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		for _, argument := range c.project.Services[name].Command {
			flag, value, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
			rest, of := strings.CutPrefix(strings.ToLower(flag), "certificatesresolvers.")
			if resolver, is := strings.CutSuffix(rest, ".acme.email"); of && is {
				out[resolver] = value
			}
		}
	}
	return out
}
