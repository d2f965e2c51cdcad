package compose

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
)

// traefikShared holds what the routers of all services share: the settings of a Traefik in the file, and the
// middlewares of all services.
type traefikShared struct {
	// emails are the addresses of certificate resolvers, entries the entry points, both by their names in lower case.
	emails  map[string]string
	entries map[string]entryPoint
	// byDNS are the resolvers that prove by DNS who has a name, each with the setting that says so.
	byDNS map[string]labelled
	// constraints is the setting by which Traefik reads some services alone.
	constraints labelled
	// asked is set if Traefik reads only services with traefik.enable=true.
	asked       bool
	middlewares []labelled
}

// entryPoint holds the settings that an entry point adds to the routers that use it.
type entryPoint struct {
	port        uint32 // of Traefik's container; 0 if unknown
	tls         bool
	resolver    string
	middlewares labelled
}

// reads reports whether Traefik reads the labels of a service.
func (t traefikShared) reads(labels []labelled) bool {
	for _, l := range labels {
		if strings.EqualFold(l.name, "traefik.enable") {
			enabled, err := strconv.ParseBool(l.value)
			return enabled || err != nil && !t.asked
		}
	}
	return !t.asked
}

// unknownEntries returns the entry points of a router that nothing in the file describes, and whose names say nothing.
func (t traefikShared) unknownEntries(named string) (out []string) {
	for name := range strings.SplitSeq(named, ",") {
		name = strings.TrimSpace(name)
		_, known := t.entries[strings.ToLower(name)]
		usual := slices.Contains([]string{"", "web", "http", "websecure", "https", "web-secure"}, strings.ToLower(name))
		if !known && !usual {
			out = append(out, name)
		}
	}
	return out
}

// entryMiddlewares returns the settings with the middlewares of entry points: of all, if a router names none.
func (t traefikShared) entryMiddlewares(named string) (out []labelled) {
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		of := func(one string) bool { return strings.EqualFold(strings.TrimSpace(one), name) }
		if named == "" || slices.ContainsFunc(strings.Split(named, ","), of) {
			out = append(out, t.entries[name].middlewares)
		}
	}
	return out
}

// ports returns the ports of Traefik's container at which it serves.
func (t traefikShared) ports() (out []uint32) {
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		if name != "traefik" { // its own API
			out = append(out, t.entries[name].port)
		}
	}
	return out
}

// readTraefik reads the flags and variables of a Traefik in the file, and the middlewares of all services.
func (c *converter) readTraefik() {
	c.shared = traefikShared{emails: map[string]string{}, entries: map[string]entryPoint{}, byDNS: map[string]labelled{}}
	names := slices.Sorted(maps.Keys(c.project.Services))
	for _, name := range names {
		for _, l := range traefikSettings(c.project.Services[name], join("services", name)) {
			c.shared.set(l)
		}
	}
	for _, name := range names {
		if labels := c.labelsOf(name); c.shared.reads(labels) {
			c.shared.middlewares = append(c.shared.middlewares, hasPrefix(labels, "traefik.http.middlewares.")...)
		}
	}
}

// traefikSettings returns the flags and the variables by which a service may set Traefik up, with names as flags have
// them.
func traefikSettings(s types.ServiceConfig, at string) (out []labelled) {
	for _, argument := range s.Command {
		if flag, value, _ := strings.Cut(argument, "="); strings.HasPrefix(flag, "-") {
			out = append(out, labelled{strings.TrimLeft(flag, "-"), value, at + ".command"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		if rest, of := strings.CutPrefix(name, "TRAEFIK_"); of && s.Environment[name] != nil {
			out = append(out, labelled{strings.ToLower(strings.ReplaceAll(rest, "_", ".")), *s.Environment[name],
				at + ".environment"})
		}
	}
	return out
}

// set takes one setting.
func (t *traefikShared) set(l labelled) {
	name := strings.ToLower(l.name)
	if strings.HasSuffix(name, ".exposedbydefault") {
		t.asked = t.asked || strings.EqualFold(l.value, "false")
	}
	if strings.HasPrefix(name, "providers.") && strings.HasSuffix(name, ".constraints") {
		t.constraints = l
	}
	if rest, of := strings.CutPrefix(name, "certificatesresolvers."); of {
		if resolver, is := strings.CutSuffix(rest, ".acme.email"); is {
			t.emails[resolver] = l.value
		}
		if resolver, _, is := strings.Cut(rest, ".acme.dnschallenge"); is {
			t.byDNS[resolver] = l
		}
	}
	rest, of := strings.CutPrefix(name, "entrypoints.")
	entry, option, _ := strings.Cut(rest, ".")
	if !of {
		return
	}
	next := t.entries[entry]
	switch {
	case option == "address":
		port, _, _ := strings.Cut(l.value[strings.LastIndexByte(l.value, ':')+1:], "/")
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			next.port = uint32(n)
		}
	case option == "http.middlewares":
		next.middlewares = l
	case option == "http.tls.certresolver":
		next.tls, next.resolver = true, l.value
	case option == "http.tls":
		next.tls = next.tls || !strings.EqualFold(l.value, "false")
	case strings.HasPrefix(option, "http.tls."):
		next.tls = true
	}
	t.entries[entry] = next
}
