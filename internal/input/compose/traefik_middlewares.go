package compose

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
)

const (
	// requiredLogin and refusedAddresses are the findings about a site that would be open.
	requiredLogin = "it required a login, and an ingress admits everyone; let the program require one, " +
		"or put a proxy in front of it"
	refusedAddresses = "it let in some addresses alone, and an ingress admits everyone; let the program refuse the others, " +
		"or put a proxy in front of it"
	otherPath = "the program got another path than the client asked for, and gets that one here"
)

// middleware is one middleware of a router.
type middleware struct {
	name string
	// by is the label, or the flag of Traefik, that gives it to the router.
	by labelled
	// labels define it. There are none if it is defined elsewhere, as in a file of Traefik.
	labels []labelled
}

// optionOf returns the part of a middleware's label after the middleware's name.
func optionOf(l labelled) string {
	_, option, _ := strings.Cut(strings.ToLower(l.name[len("traefik.http.middlewares."):]), ".")
	return option
}

// redirects reports whether a middleware redirects to HTTPS.
func (m middleware) redirects() bool {
	return slices.ContainsFunc(m.labels, func(l labelled) bool {
		return optionOf(l) == "redirectscheme.scheme" && l.value == "https"
	})
}

// ofLabels reports whether a provider of Traefik reads labels. The empty one is that of the label itself.
func ofLabels(provider string) bool {
	return slices.Contains([]string{"", "docker", "swarm"}, provider)
}

// middlewaresOf returns the middlewares of a router: those of its entry points, then its own, with a chain's in its
// place. Traefik knows a middleware by its name, whichever service has its labels.
func (t traefikShared) middlewaresOf(r router) (out []middleware) {
	seen := map[string]bool{}
	var follow func(by labelled, names string)
	follow = func(by labelled, names string) {
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); name == "" || seen[name] {
				continue
			}
			seen[name] = true
			next := middleware{name: name, by: by}
			if plain, provider, _ := strings.Cut(strings.ToLower(name), "@"); ofLabels(provider) {
				next.labels = hasPrefix(t.middlewares, "traefik.http.middlewares."+plain+".")
			}
			out = append(out, next)
			for _, l := range next.labels {
				if optionOf(l) == "chain.middlewares" {
					follow(by, l.value)
				}
			}
		}
	}
	for _, by := range t.entryMiddlewares(r.options["entrypoints"].value) {
		follow(by, by.value)
	}
	follow(r.options["middlewares"], r.options["middlewares"].value)
	return out
}

// middlewares converts the middlewares that an ingress has too: a redirect to HTTPS, and a stripped prefix. It reports
// all others. One that asks for a password has the weight Breaks, since the site would be open, and so has one that
// nobody can look at here.
func (c *converter) middlewares(service string, r *router, routes *siteRoutes) {
	for _, m := range r.middlewares {
		if len(m.labels) == 0 {
			c.noRoute(m.by, Breaks, "no label of the file defines the middleware %s; if it required a login or refused addresses, "+
				"an ingress admits everyone: look at it where it is defined", m.name)
		}
		for _, l := range m.labels {
			if strings.Contains(optionOf(l), "auth") { // it holds a password, or the address where they are
				l.value = "…"
			}
			report := func(weight Weight, text string) {
				if strings.HasPrefix(l.at, join("services", service)+".") {
					c.noRoute(l, weight, "%s", text)
				} else { // another service defines what opens or closes this one's site
					c.noRoute(m.by, weight, "%s, of %s: %s", l.name, l.at, text)
				}
			}
			c.middleware(r, m.by, l, routes, report)
		}
	}
}

// middleware converts one label of a middleware that by gives to the router.
func (c *converter) middleware(r *router, by, l labelled, routes *siteRoutes, report func(Weight, string)) {
	of := func(kinds ...string) bool {
		kind, _, _ := strings.Cut(optionOf(l), ".")
		return slices.Contains(kinds, kind)
	}
	switch {
	case of("redirectscheme", "chain"):
		routes.use(l)
	case optionOf(l) == "stripprefix.prefixes":
		for prefix := range strings.SplitSeq(l.value, ",") {
			r.strip = append(r.strip, stripped{strings.TrimSpace(prefix), by})
		}
		routes.use(l)
	case of("compress"):
		routes.use(l)
		report(Trifle, "an ingress doesn't change answers")
	case of("basicauth", "digestauth", "forwardauth"):
		report(Breaks, requiredLogin)
	case of("ipallowlist", "ipwhitelist"):
		report(Breaks, refusedAddresses)
	case of("plugin"):
		report(Breaks, "a plugin may have refused requests, and an ingress admits everyone")
	case of("addprefix", "replacepath", "replacepathregex", "stripprefixregex"):
		report(Breaks, otherPath)
	default:
		report(Changes, "an ingress has no equivalent")
	}
}

// locations returns the locations for a path of a router: the path itself, and below it each prefix that is taken off.
func (c *converter) locations(path string, strip []stripped) []*api.IngressLocation {
	path = below(path)
	out := []*api.IngressLocation{{Path: path}}
	for _, s := range strip {
		prefix := below(s.prefix)
		switch {
		case prefix == path:
			out[0].Strip = path != "/"
		case path == "/" || strings.HasPrefix(prefix, path+"/"):
			out = append(out, &api.IngressLocation{Path: prefix, Strip: true})
		case prefix == "/" || strings.HasPrefix(path, prefix+"/"):
			c.noRoute(s.by, Breaks, "an ingress takes the whole of %s off, or nothing: %s", path, otherPath)
		}
	}
	return out
}
