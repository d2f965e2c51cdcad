package compose

import (
	"slices"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// unit is a service or a job: its path, and the keys that both have.
type unit struct {
	at   string
	name string
	*types.ContainerSpec
	*types.WorkloadSpec
	// options are flags of docker run for keys without a field, with the keys they come from.
	options []option
	// origins holds, per field, the keys of the file that a list's entries come from, and places those of single fields.
	origins map[string][]string
	places  map[string]string
}

// service turns a service into a deployment, or into a job if it runs to completion.
func (c *converter) service(s types.ServiceConfig) error {
	at := join("services", s.Name)
	u := &unit{at: at, name: c.names[at], ContainerSpec: &s.ContainerSpec, WorkloadSpec: &s.WorkloadSpec}
	c.report.carry(at, at+".extends", at+".extends.file", at+".extends.service")
	switch {
	case s.Provider != nil:
		why := reasons["services.*.provider"]
		c.report.lost(at, why.weight, "%s", why.text)
		return nil
	case c.proxies[s.Name] != "":
		c.report.lost(at, Changes, "%s", c.proxies[s.Name])
		return nil
	case c.once[s.Name].why != "":
		return c.serviceJob(u, s, c.once[s.Name])
	}
	c.deployLimits(u, s.Deploy)
	spec := api.DeploymentSpec{Container: c.container(u)}
	c.reservations(u, s.Deploy, &spec.Container)
	c.placement(u, s.Deploy, "deployment/"+u.name, &spec.Container)
	c.gpus(u, s.Deploy)
	spec.Ports = c.ports(u)
	c.restart(u, s, &spec)
	c.replicas(u, s, &spec)
	c.health(u, &spec)
	c.update(u, s.Deploy, &spec)
	c.aliases(u, s, &spec)
	spec.DependsOn = c.dependsOn(u)
	spec.DockerOptions = u.flags()
	if len(s.Profiles) > 0 {
		c.report.lost(at+".profiles", Changes, "what is applied runs; leave the block out to keep it from running")
	}
	c.takeRouteLabels(u, &spec)
	shared := c.sharePorts(u, &spec)
	if err := c.add(api.KindDeployment, u, spec); err != nil {
		return err
	}
	if err := c.addShared(u, shared); err != nil {
		return err
	}
	return c.addRoutes(u, s.Name)
}

// sharePorts removes from a deployment the host's ports that several replicas can't share. Ingresses listen on them
// instead.
func (c *converter) sharePorts(u *unit, spec *api.DeploymentSpec) (shared []api.IngressSpec) {
	n := spec.ReplicaCount()
	if n <= 1 {
		return nil
	}
	var kept []string
	shared, kept = sharedPorts(u.name, spec.Ports)
	if len(kept) < len(spec.Ports) {
		var origins []string
		for i, entry := range spec.Ports {
			if slices.Contains(kept, entry) && i < len(u.origins["ports"]) {
				origins = append(origins, u.origins["ports"][i])
			}
		}
		spec.Ports = kept
		if u.origins != nil {
			u.origins["ports"] = origins
		}
	}
	if slices.ContainsFunc(spec.Ports, api.FixedHostPort) {
		c.report.differs(u.at+".ports",
			"%d replicas can't all have one port of the host: take the host's port out, or set replicas to 1", n)
	}
	return shared
}

func (c *converter) addShared(u *unit, shared []api.IngressSpec) error {
	for _, in := range shared {
		own := *u
		own.name = c.ingressName(portName(u.name, in.ListensAt()))
		c.report.note(u.at+".ports", "ingress/%s/%s listens at %s of every node, for all replicas", c.scope,
			own.name, in.ListensAt())
		if err := c.add(api.KindIngress, &own, in); err != nil {
			return err
		}
	}
	return nil
}

// ingressName returns a name that no other ingress of the import has.
func (c *converter) ingressName(wanted string) string {
	if c.ingresses == nil {
		c.ingresses = map[string]bool{}
	}
	unique := wanted
	for n := 2; c.ingresses[unique]; n++ {
		unique = dashed(wanted, n)
	}
	c.ingresses[unique] = true
	return unique
}

// duration returns a duration in the form of manifests.
func duration(d time.Duration) api.Duration { return api.Duration(api.ShortDuration(d)) }
