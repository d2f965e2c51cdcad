package compose

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// block is the labels of one site of caddy-docker-proxy: caddy, or caddy_0.
type block struct {
	head    labelled
	options []labelled
}

var (
	caddyKey  = pattern.Lazy(`^caddy(_\d+)?(\.|$)`)
	upstreams = pattern.Lazy(`^(?:(/\S*) +)?\{\{ *upstreams *(?:https?)? *(\d+)? *\}\}$`)
	numbered  = pattern.Lazy(`^\d+_`)
)

// caddy reads the labels of caddy-docker-proxy.
func (c *converter) caddy(labels []labelled, routes *siteRoutes) {
	var order []string
	blocks := map[string]*block{}
	for _, l := range labels {
		if !caddyKey().MatchString(l.name) {
			continue
		}
		key, option, below := strings.Cut(l.name, ".")
		b := blocks[key]
		if b == nil {
			b = &block{}
			blocks[key], order = b, append(order, key)
		}
		if below && option != "" {
			b.options = append(b.options, l)
		} else {
			b.head = l
		}
	}
	for _, key := range order {
		if b := blocks[key]; b.head.name != "" && b.head.value != "" {
			c.caddySite(*b, routes)
		}
	}
}

// caddySite converts one block to sites.
func (c *converter) caddySite(b block, routes *siteRoutes) {
	next := site{at: b.head.at, tls: &api.IngressTLS{}}
	var locations []*api.IngressLocation
	proxied := false
	for _, l := range b.options {
		words := directive(l.name)
		switch last := words[len(words)-1]; {
		case last == "reverse_proxy":
			match := upstreams().FindStringSubmatch(l.value)
			if match == nil {
				c.noRoute(b.head, Breaks, "%s=%s leads elsewhere than to this service. %s", l.name, l.value, siteGone)
				return
			}
			proxied = true
			if n, err := strconv.Atoi(match[2]); err == nil {
				next.port = n
			}
			if match[1] != "" {
				locations = append(locations, &api.IngressLocation{Path: below(match[1])})
			}
			routes.use(l)
		case last == "handle_path" || last == "handle":
			locations = append(locations, &api.IngressLocation{Path: below(l.value), Strip: last == "handle_path"})
			routes.use(l)
		case last == "tls" && len(words) == 1:
			routes.use(l)
			switch {
			case l.value == "internal":
				next.tls.Provider = "internal"
			case strings.Contains(l.value, "@"):
				next.tls.Email = l.value
			default:
				c.noRoute(l, Changes, "the certificate is obtained as for any host; name one with tls.certificate")
			}
		case last == "encode":
			routes.use(l)
			c.noRoute(l, Trifle, "an ingress doesn't change answers")
		case slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "auth") }):
			c.noRoute(labelled{l.name, "…", l.at}, Breaks,
				"it required a login, and an ingress admits everyone; let the program require one, or put a proxy in front of it")
		default:
			c.noRoute(l, Changes, "an ingress has no equivalent")
		}
	}
	if !proxied {
		c.noRoute(b.head, Breaks, "nothing leads it to this service. %s", siteGone)
		return
	}
	for address := range strings.SplitSeq(b.head.value, ",") {
		c.caddyAddress(strings.TrimSpace(address), next, locations, routes)
	}
	routes.use(b.head)
}

// caddyAddress adds one address of a block: a host, with http:// before it for plain HTTP.
func (c *converter) caddyAddress(address string, next site, locations []*api.IngressLocation, routes *siteRoutes) {
	if plain, http := strings.CutPrefix(address, "http://"); http {
		address, next.tls = plain, nil
	}
	address = strings.TrimPrefix(address, "https://")
	host, path, below := strings.Cut(address, "/")
	if host, _, _ = strings.Cut(host, ":"); host == "" {
		c.noRoute(labelled{"caddy", address, next.at}, Breaks, "it names no host. %s", siteGone)
		return
	}
	if below && path != "" && path != "*" && len(locations) == 0 {
		locations = []*api.IngressLocation{{Path: belowPath(path)}}
	}
	if len(locations) == 0 {
		routes.add(strings.ToLower(host), next, nil)
	}
	for _, location := range locations {
		routes.add(strings.ToLower(host), next, location)
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
