package compose

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// ofSegment matches a rule of one of several ports of a container, as Traefik 1 has them.
var ofSegment = pattern.Lazy(`^traefik\.[^.]+\.frontend\.rule$`)

// traefik1 reads the rule of Traefik 1: Host:a.example,b.example;PathPrefix:/x.
func (c *converter) traefik1(values map[string]labelled, routes *siteRoutes) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if ofSegment().MatchString(name) {
			c.noRoute(values[name], Breaks, "it is the rule of one of several ports. %s", siteGone)
		}
	}
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
		next := site{by: rule, port: port}
		if len(paths) == 0 {
			routes.add(strings.ToLower(host), next, nil)
		}
		for _, path := range paths {
			routes.add(strings.ToLower(host), next, &api.IngressLocation{Path: path, Strip: strip})
		}
	}
	c.noRoute(rule, Changes, "it becomes plain HTTP; for HTTPS add tls {} to the ingress")
	routes.use(rule)
	c.frontend(values)
}

// frontend reports what else the labels of Traefik 1 say about a site.
func (c *converter) frontend(values map[string]labelled) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		l := values[name]
		switch option, _ := strings.CutPrefix(name, "traefik.frontend."); {
		case name == "traefik.protocol" && l.value == "https":
			c.noRoute(l, Breaks, speaksHTTP)
		case option == name, option == "rule", option == "priority", option == "entrypoints",
			option == "passhostheader" && l.value == "true":
		case strings.HasPrefix(option, "auth."):
			l.value = "…"
			c.noRoute(l, Breaks, requiredLogin)
		case strings.HasPrefix(option, "whitelist"):
			c.noRoute(l, Breaks, refusedAddresses)
		default:
			c.noRoute(l, Changes, "an ingress has no equivalent")
		}
	}
}
