package compose

import (
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// findAliases collects the names by which containers of the file reach each other, besides the services' own: service
// names that are invalid in Tend, container names, and the aliases of links.
func (c *converter) findAliases() {
	c.called = map[string][]naming{}
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		s, at := c.project.Services[name], join("services", name)
		if strings.ToLower(name) != c.names[at] {
			c.call(name, naming{name: name, at: at})
		}
		if s.ContainerName != "" {
			c.call(name, naming{name: s.ContainerName, at: at + ".container_name"})
		}
		for _, network := range slices.Sorted(maps.Keys(s.Networks)) {
			if joined := s.Networks[network]; joined != nil {
				for _, alias := range joined.Aliases {
					c.call(name, naming{name: alias, at: join(at+".networks", network) + ".aliases"})
				}
			}
		}
	}
	c.findLinks()
}

// naming is a further name of a service, and the key of the file that gives it.
type naming struct{ name, at string }

func (c *converter) call(service string, n naming) {
	c.called[service] = append(c.called[service], n)
}

// findLinks turns the names of links into aliases of the services they refer to. In Compose only the linking service
// sees such a name, in Tend all do: a name that would refer to two services is reported as lost.
func (c *converter) findLinks() {
	targets := map[string]map[string]bool{}
	each := func(visit func(at, target, alias string)) {
		for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
			for _, link := range c.project.Services[name].Links {
				target, alias, renamed := strings.Cut(link, ":")
				if renamed && alias != target {
					visit(join("services", name)+".links", target, alias)
				}
			}
		}
	}
	each(func(_, target, alias string) {
		if targets[alias] == nil {
			targets[alias] = map[string]bool{}
		}
		targets[alias][target] = true
	})
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		c.report.carryAll(join("services", name) + ".links")
	}
	each(func(at, target, alias string) {
		_, service := c.project.Services[alias]
		if len(targets[alias]) > 1 || service {
			c.report.lost(at, Breaks,
				"%s stands for %s here, and for something else in other services; write %s in its settings", alias, target, target)
			return
		}
		if !slices.ContainsFunc(c.called[target], func(n naming) bool { return n.name == alias }) {
			c.call(target, naming{name: alias, at: at})
			c.report.note(at, "%s is a name of %s for all, not for this service alone", alias, target)
		}
	})
}

// aliases sets a deployment's further names. A name with a dot is not a name of a scope: only Docker answers for it, on
// one machine.
func (c *converter) aliases(u *unit, s types.ServiceConfig, out *api.DeploymentSpec) {
	r := c.report
	r.carry(u.at + ".container_name")
	if len(s.ExternalLinks) > 0 {
		r.lost(u.at+".external_links", Breaks,
			"they lead to containers outside the file; import those too, and reach them as <name>.<scope>")
	}
	if u.NetworkMode != "" && u.NetworkMode != "bridge" && u.NetworkMode != "default" {
		if s.ContainerName != "" {
			r.lost(u.at+".container_name", Trifle, "containers are called <scope>-<name>.<id>, so that several can run")
		}
		return
	}
	for _, n := range c.called[s.Name] {
		alias := strings.ToLower(n.name)
		switch {
		case n.at == u.at+".container_name" && alias == u.name:
			r.note(n.at, "the container is called %s-%s.<id>; others reach it as before", c.scope, u.name)
			continue
		case n.at == u.at+".container_name":
			r.note(n.at, "is an alias: the container is called %s-%s.<id>, and others reach it as before", c.scope, u.name)
		}
		other := c.alsoCalled(s.Name, alias)
		switch {
		case slices.Contains(out.Aliases, alias) || alias == u.name:
		case other != "":
			r.lost(n.at, Breaks,
				"%s is a name of the service %s too, and a name leads to one workload; write %s or %s in the settings of who asks for it",
				n.name, other, u.name, c.names[join("services", other)])
		case api.CheckAlias(alias) == nil:
			u.from("aliases", n.at)
			out.Aliases = append(out.Aliases, alias)
		default:
			r.note(n.at, "the name %s resolves on the container's own machine alone", n.name)
			u.flag(c, n.at, "--network-alias="+n.name)
		}
	}
}

// alsoCalled returns another service that has the name, or whose alias it is; empty if there is none.
func (c *converter) alsoCalled(service, alias string) string {
	for _, other := range slices.Sorted(maps.Keys(c.project.Services)) {
		same := func(n naming) bool { return strings.ToLower(n.name) == alias }
		if other != service && (c.names[join("services", other)] == alias || slices.ContainsFunc(c.called[other], same)) {
			return other
		}
	}
	return ""
}
