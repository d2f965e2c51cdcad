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
			name == "HTTPS_METHOD") {
			values[name] = labelled{name, *value, at}
		}
	}
	named := values["VIRTUAL_HOST"]
	if strings.TrimSpace(named.value) == "" {
		return
	}
	secure := hostsIn(values["LETSENCRYPT_HOST"].value)
	next := site{at: at, port: c.onlyPort(service)}
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
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch name {
		case "VIRTUAL_HOST", "VIRTUAL_PORT", "VIRTUAL_PATH", "VIRTUAL_DEST", "LETSENCRYPT_HOST", "LETSENCRYPT_EMAIL":
		case "VIRTUAL_PROTO":
			if values[name].value != "http" {
				c.noRoute(values[name], Breaks, "an ingress speaks HTTP to its pods")
			}
		default:
			c.noRoute(values[name], Changes, "an ingress has no equivalent")
		}
		routes.use(values[name])
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
