package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
)

// tendNetwork is the finding about a network of the Compose file. One network between nodes serves the whole cluster,
// with rules for all scopes, so a single application doesn't declare it.
const tendNetwork = "not made: all containers meet on tend0"

// declaredNetworks reports the settings of networks that are lost. A network that only lets services meet loses
// nothing.
func (c *converter) declaredNetworks() {
	r := c.report
	for _, name := range slices.Sorted(maps.Keys(c.project.Networks)) {
		at, network := join("networks", name), c.project.Networks[name]
		r.carry(at, at+".external")
		if bool(network.External) {
			r.carry(at + ".name")
			continue
		}
		inside, outside := c.parted(name)
		switch {
		case name == "default": // the other one of two that are parted has its own network here
		case inside != "":
			r.differs(at, "%s, so those that shared no network, such as %s and %s, can reach each other too", tendNetwork,
				inside, outside)
		default:
			r.note(at, "%s", tendNetwork)
		}
		c.declaredNetwork(at, network)
	}
}

// parted returns a service of a network, and one with which it shares no network; "" if there are no two such.
func (c *converter) parted(network string) (inside, outside string) {
	names := slices.Sorted(maps.Keys(c.project.Services))
	for _, inside := range names {
		joined := c.project.Services[inside].Networks
		if _, in := joined[network]; !in {
			continue
		}
		for _, outside := range names {
			others := c.project.Services[outside].Networks
			meets := func(name string) bool { _, both := others[name]; return both }
			if len(others) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(joined)), meets) {
				return inside, outside
			}
		}
	}
	return "", ""
}

func (c *converter) declaredNetwork(at string, network types.NetworkConfig) {
	r := c.report
	switch network.Driver {
	case "", "bridge", "overlay", "default":
		r.carry(at + ".driver")
	default:
		r.lost(at+".driver", Breaks,
			"containers get their addresses from tend0; make the network with `docker network create` and write networks = [%q]",
			network.Name)
	}
	if network.Name != "" && network.Name != c.project.Name+"_"+lastKey(at) {
		r.differs(at+".name",
			"what other projects join by the name %s is not made: they meet these containers on tend0, as <name>.%s",
			network.Name, c.scope)
	}
	r.carry(at + ".name")
	if network.Internal {
		r.lost(at+".internal", Changes, "its containers could reach nothing outside; here they can")
	} else {
		r.carry(at + ".internal")
	}
	r.carryAll(at + ".attachable") // any container may join tend0
	r.carry(at + ".enable_ipv4")
	if network.EnableIPv6 != nil && *network.EnableIPv6 {
		r.lost(at+".enable_ipv6", Changes, "containers have IPv4 addresses")
	} else {
		r.carry(at + ".enable_ipv6")
	}
	if len(network.Ipam.Config) > 0 || network.Ipam.Driver != "" && network.Ipam.Driver != "default" {
		r.lost(at+".ipam", Changes, "Tend chooses the addresses; containers reach each other by name")
	} else {
		r.carryAll(at + ".ipam")
	}
	if len(network.DriverOpts) > 0 {
		r.lost(at+".driver_opts", Changes, "the network between containers is Tend's own")
	}
}

// declaredVolumes reports the settings of volumes that are lost. Volumes keep the names that Compose gave them, so
// existing ones already have their drivers and options.
func (c *converter) declaredVolumes() {
	r := c.report
	for _, name := range slices.Sorted(maps.Keys(c.project.Volumes)) {
		at, volume := join("volumes", name), c.project.Volumes[name]
		r.carry(at, at+".name", at+".external")
		if volume.Driver == "" || volume.Driver == "local" {
			r.carry(at + ".driver")
			if len(volume.DriverOpts) == 0 {
				r.carry(at + ".driver_opts")
				continue
			}
		}
		command := "docker volume create"
		if volume.Driver != "" && volume.Driver != "local" {
			command += " --driver " + volume.Driver
		}
		for _, option := range slices.Sorted(maps.Keys(volume.DriverOpts)) {
			command += fmt.Sprintf(" --opt %s", quoted(option+"="+volume.DriverOpts[option]))
		}
		command += " " + volume.Name
		key := at + ".driver_opts"
		if len(volume.DriverOpts) == 0 {
			key = at + ".driver"
		}
		r.carryAll(at+".driver", at+".driver_opts")
		r.findings[key] = append(r.findings[key], Finding{Path: key, Weight: Breaks,
			Text: "the volume must be there before it is used, or an empty one is made: " + command})
		c.steps.volumes = append(c.steps.volumes, command)
	}
}

// quoted quotes a word for a shell if it needs that.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'`$&|;<>()*?[]#~!{}\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
