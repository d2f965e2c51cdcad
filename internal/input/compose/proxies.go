package compose

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// leaveOut leaves out the proxies from whose labels or variables ingresses were made, and reports what they did
// besides.
func (c *converter) leaveOut(made map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		s := c.project.Services[name]
		if proxy := imageBase(s.Image); !made[proxy] || s.Build != nil {
			continue
		}
		c.proxies[name] = "Tend's own proxy serves the ingresses made of the labels and variables, at the same ports. " +
			"What this one was told elsewhere (files, plugins) is lost"
		delete(c.routes, name)
		c.proxyPorts(name)
		for i, v := range s.Volumes {
			if strings.HasPrefix(v.Target, "/etc/nginx/htpasswd") {
				c.report.lost(fmt.Sprintf("%s.volumes[%d]", join("services", name), i), Breaks,
					"it has the passwords of sites, and an ingress admits everyone; let the programs require a login, "+
						"or put a proxy in front of them")
			}
		}
	}
}

// proxyPorts reports where a proxy served the sites, if an ingress serves them elsewhere too.
func (c *converter) proxyPorts(service string) {
	for i, port := range c.project.Services[service].Ports {
		if !slices.Contains([]uint32{80, 443}, port.Target) && !slices.Contains(c.shared.ports(), port.Target) {
			continue
		}
		at := fmt.Sprintf("%s.ports[%d]", join("services", service), i)
		if address, err := netip.ParseAddr(port.HostIP); err == nil && !address.IsUnspecified() {
			c.report.lost(at, Breaks, "the sites were served at %s alone, and Tend's proxy serves them at every address: "+
				"--ingress-http and --ingress-https of the server and the agents name others", port.HostIP)
		} else if !slices.Contains([]string{"", "80", "443"}, port.Published) {
			c.report.lost(at, Changes, "the sites were served at the port %s, and Tend's proxy serves them at 80 and 443: "+
				"--ingress-http and --ingress-https of the server and the agents name others", port.Published)
		}
	}
}

// outside returns the proxy that reads labels, if it isn't in the file.
func outside(there map[string]bool, image, name string) string {
	if there[image] {
		return ""
	}
	return name
}
