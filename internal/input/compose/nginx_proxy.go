package compose

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// nginxProxies are the images of nginx-proxy and of its companions, which serve no purpose without it.
var nginxProxies = []string{
	"nginx-proxy", "acme-companion", "letsencrypt-nginx-proxy-companion",
	"docker-letsencrypt-nginx-proxy-companion", "docker-gen",
}

// nginxProxy reads the variables from which nginx-proxy derives the routes to a service.
func (c *converter) nginxProxy(service string, routes *siteRoutes) {
	at := join("services", service) + ".environment"
	values := map[string]labelled{}
	for name, value := range c.project.Services[service].Environment {
		if value != nil && (strings.HasPrefix(name, "VIRTUAL_") || strings.HasPrefix(name, "LETSENCRYPT_") ||
			name == "HTTPS_METHOD" || name == "NETWORK_ACCESS") {
			values[name] = labelled{name, *value, at}
		}
	}
	if several, given := values["VIRTUAL_HOST_MULTIPORTS"]; given {
		c.noRoute(labelled{several.name, "…", at}, Breaks, "an ingress leads to one port. %s", siteGone)
		delete(values, "VIRTUAL_HOST_MULTIPORTS")
	}
	named := values["VIRTUAL_HOST"]
	if strings.TrimSpace(named.value) == "" {
		return
	}
	secure := hostsIn(values["LETSENCRYPT_HOST"].value)
	next := site{by: named, port: c.onlyPort(service)}
	if port, err := strconv.Atoi(values["VIRTUAL_PORT"].value); err == nil {
		next.port = port
	}
	var location *api.IngressLocation
	if path := values["VIRTUAL_PATH"].value; path != "" && path != "/" {
		location = &api.IngressLocation{Path: strings.TrimSuffix(path, "/"), Strip: values["VIRTUAL_DEST"].value == "/"}
	}
	for _, host := range hostsIn(named.value) {
		one := next
		if slices.Contains(secure, host) {
			one.tls = &api.IngressTLS{Email: cmp.Or(values["LETSENCRYPT_EMAIL"].value, c.companionEmail())}
		}
		routes.add(host, one, location)
	}
	c.nginxVariables(values, routes)
}

// nginxVariables reports the variables that say more than an ingress does.
func (c *converter) nginxVariables(values map[string]labelled, routes *siteRoutes) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		l := values[name]
		switch name {
		case "VIRTUAL_HOST", "VIRTUAL_PORT", "VIRTUAL_PATH", "LETSENCRYPT_HOST", "LETSENCRYPT_EMAIL":
		case "VIRTUAL_DEST":
			if l.value != "" && l.value != "/" {
				c.noRoute(l, Breaks, otherPath)
			}
		case "VIRTUAL_PROTO":
			if l.value != "http" {
				c.noRoute(l, Breaks, speaksHTTP)
			}
		case "NETWORK_ACCESS":
			if l.value != "external" {
				c.noRoute(l, Breaks, refusedAddresses)
			}
		default:
			c.noRoute(l, Changes, "an ingress has no equivalent")
		}
		routes.use(l)
	}
}

// hostsIn returns the names in a list with commas between them.
func hostsIn(list string) (out []string) {
	for host := range strings.SplitSeq(list, ",") {
		if host = strings.ToLower(strings.TrimSpace(host)); host != "" {
			out = append(out, host)
		}
	}
	return out
}

// companionEmail returns the email address that nginx-proxy's companion in the file uses at the certificate authority,
// or "".
func (c *converter) companionEmail() string {
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		s := c.project.Services[name]
		if email := s.Environment["DEFAULT_EMAIL"]; email != nil && slices.Contains(nginxProxies[1:], imageBase(s.Image)) {
			return *email
		}
	}
	return ""
}
