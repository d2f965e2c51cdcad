package compose

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// block is the labels of one site of caddy-docker-proxy: caddy, or caddy_0.
type block struct {
	key     string
	head    labelled
	options []labelled
}

// upstream is a path of a site that leads to a port of the containers.
type upstream struct {
	location api.IngressLocation
	port     int
}

var (
	caddyKey  = pattern.Lazy(`^caddy(_\d+)?(\.|$)`)
	upstreams = pattern.Lazy(`^(?:(/\S*) +)?\{\{ *upstreams *(https?)? *(\d+)? *\}\}$`)
	numbered  = pattern.Lazy(`^\d+_`)
	refusal   = pattern.Lazy(`\b4\d\d\b`)
)

// caddyBlocks collects the labels of caddy-docker-proxy by their sites, in the order of the labels.
func caddyBlocks(labels []labelled) (out []*block) {
	blocks := map[string]*block{}
	for _, l := range labels {
		if !caddyKey().MatchString(l.name) {
			continue
		}
		key, option, below := strings.Cut(l.name, ".")
		b := blocks[key]
		if b == nil {
			b = &block{key: key}
			blocks[key], out = b, append(out, b)
		}
		if below && option != "" {
			b.options = append(b.options, l)
		} else {
			b.head = l
		}
	}
	return out
}

// snippet returns the name of a block of directives that others import: auth of (auth).
func (b block) snippet() (name string, is bool) {
	name, opened := strings.CutPrefix(b.head.value, "(")
	name, closed := strings.CutSuffix(name, ")")
	return name, opened && closed
}

// caddy reads the labels of caddy-docker-proxy.
func (c *converter) caddy(service string, labels []labelled, routes *siteRoutes) {
	for _, b := range caddyBlocks(labels) {
		if _, imported := b.snippet(); !imported && b.head.value != "" {
			c.caddySite(service, *b, routes)
		}
	}
}

// caddySite converts one block to sites.
func (c *converter) caddySite(service string, b block, routes *siteRoutes) {
	tls := &api.IngressTLS{}
	var found []upstream
	for _, l := range b.options {
		words := directive(l.name)
		switch last := words[len(words)-1]; {
		case last == "reverse_proxy":
			next, err := c.upstream(service, b, l)
			if err != nil {
				c.noRoute(b.head, Breaks, "%s=%s: %s. %s", l.name, l.value, err, siteGone)
				return
			}
			found = append(found, next)
			routes.use(l)
		case last == "handle_path" || last == "handle" || last == "route":
			routes.use(l) // upstream reads it
		case last == "tls" && len(words) == 1:
			routes.use(l)
			switch {
			case l.value == "internal":
				tls.Provider = "internal"
			case strings.Contains(l.value, "@"):
				tls.Email = l.value
			default:
				c.noRoute(l, Changes, "the certificate is obtained as for any host; name one with tls.certificate")
			}
		case last == "import":
			c.caddyImport(l)
		default:
			c.caddyDirective(l, l)
		}
	}
	if len(found) == 0 {
		c.noRoute(b.head, Breaks, "nothing leads it to this service. %s", siteGone)
		return
	}
	for address := range strings.SplitSeq(b.head.value, ",") {
		c.caddyAddress(strings.TrimSpace(address), site{by: b.head, tls: tls}, found, routes)
	}
	routes.use(b.head)
}

// upstream returns where a reverse_proxy leads: the path is its own, or that of the handle around it.
func (c *converter) upstream(service string, b block, l labelled) (out upstream, err error) {
	match := upstreams().FindStringSubmatch(l.value)
	if match == nil {
		return out, errors.New("it leads elsewhere than to this service")
	}
	if match[2] == "https" {
		return out, errors.New(speaksHTTP)
	}
	path := match[1]
	if out.port, err = strconv.Atoi(match[3]); err != nil && len(c.project.Services[service].Ports) > 0 {
		out.port = 80 // of a published port an ingress would take the container's side
	}
	parent := l.name[:strings.LastIndexByte(l.name, '.')]
	for _, around := range b.options {
		if around.name != parent || around.value == "" {
			continue
		}
		if path != "" {
			return out, errors.New("an ingress has no path within a path")
		}
		path, out.location.Strip = around.value, strings.HasSuffix(parent, "handle_path")
	}
	if path = cmp.Or(path, "/*"); !strings.HasPrefix(path, "/") && path != "*" {
		return out, fmt.Errorf("an ingress has no %s", path)
	}
	if !strings.HasSuffix(path, "*") {
		c.noRoute(l, Changes, "an ingress takes what is below %s, too", path)
	}
	out.location.Path = below(path)
	out.location.Strip = out.location.Strip && out.location.Path != "/"
	return out, nil
}

// caddyImport reports the directives of a snippet, which any service of the file may define.
func (c *converter) caddyImport(by labelled) {
	wanted, _, _ := strings.Cut(by.value, " ")
	known := false
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		for _, b := range caddyBlocks(c.labelsOf(name)) {
			if snippet, is := b.snippet(); is && snippet == wanted {
				known = true
				for _, l := range b.options {
					c.caddyDirective(by, l)
				}
			}
		}
	}
	if !known {
		c.noRoute(by, Breaks, "no label of the file defines the snippet %s; if it required a login or refused addresses, "+
			"an ingress admits everyone: look at it where it is defined", wanted)
	}
}

// caddyDirective reports a directive that an ingress lacks. by is the label itself, or the one that imports it.
func (c *converter) caddyDirective(by, l labelled) {
	words := directive(l.name)
	has := func(text string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, text) })
	}
	weight, text := Changes, "an ingress has no equivalent"
	switch last := words[len(words)-1]; {
	case last == "encode":
		weight, text = Trifle, "an ingress doesn't change answers"
	case has("auth"):
		weight, text = Breaks, requiredLogin
		l.value = "…"
	case has("remote_ip"), has("client_ip"), strings.Contains(l.value, "remote_ip"), strings.Contains(l.value, "client_ip"):
		weight, text = Breaks, refusedAddresses
	case last == "abort", last == "error", last == "respond" && refusal().MatchString(l.value):
		weight, text = Breaks, "it refused requests, and an ingress passes them on"
	case last == "dns" && words[0] == "tls":
		text = byDNS
		l.value = "…" // it may hold the provider's token
	case last == "uri", last == "rewrite":
		weight, text = Breaks, otherPath
	}
	if by.name == l.name {
		c.noRoute(l, weight, "%s", text)
	} else {
		c.noRoute(by, weight, "%s, of %s: %s", l.name, l.at, text)
	}
}

// caddyAddress adds one address of a block: a host, with http:// before it for plain HTTP.
func (c *converter) caddyAddress(address string, next site, found []upstream, routes *siteRoutes) {
	if plain, http := strings.CutPrefix(address, "http://"); http {
		address, next.tls = plain, nil
	}
	address = strings.TrimPrefix(address, "https://")
	host, path, _ := strings.Cut(address, "/")
	host, port, _ := strings.Cut(host, ":")
	label := labelled{"caddy", address, next.by.at}
	switch {
	case host == "":
		c.noRoute(label, Breaks, "it names no host. %s", siteGone)
		return
	case port == "80":
		next.tls = nil
	case port != "" && port != "443":
		c.noRoute(label, Changes, "it was served at the port %s, and an ingress is served at the ports of all", port)
	}
	for _, to := range found {
		if to.location.Path == "/" {
			to.location.Path = belowPath(path)
		}
		next.port = to.port
		routes.add(strings.ToLower(host), next, &to.location)
	}
}

// directive returns the names of a nested directive, without the numbers that put several in order: reverse_proxy of
// caddy.handle_path.0_reverse_proxy.
func directive(label string) []string {
	_, rest, _ := strings.Cut(label, ".")
	words := strings.Split(rest, ".")
	for i, word := range words {
		words[i] = numbered().ReplaceAllString(word, "")
	}
	return words
}

// below returns a path without its trailing star.
func below(path string) string {
	path = strings.TrimSuffix(strings.TrimSuffix(path, "*"), "/")
	return cmp.Or(path, "/")
}

func belowPath(path string) string { return below("/" + path) }
