package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/manifest"
)

// unit is a service or a job: its path, and what both have.
type unit struct {
	at   string
	name string
	*types.ContainerSpec
	*types.WorkloadSpec
	// options are flags of docker run for keys without a field, with the keys they come from.
	options []option
}

// service turns a service into a deployment, or into a job if it runs to completion.
func (c *converter) service(s types.ServiceConfig) error {
	at := join("services", s.Name)
	u := &unit{at: at, name: c.names[at], ContainerSpec: &s.ContainerSpec, WorkloadSpec: &s.WorkloadSpec}
	c.report.carry(at, at+".extends", at+".extends.file", at+".extends.service")
	if s.Provider != nil {
		c.report.lost(at, "%s", reasons["services.*.provider"])
		return nil
	}
	if reason := c.runsOnce(s); reason != "" {
		return c.serviceJob(u, s, reason)
	}
	c.deployLimits(u, s.Deploy)
	spec := api.DeploymentSpec{Container: c.container(u)}
	c.reservations(u, s.Deploy, &spec.Container)
	c.placement(u, s.Deploy, "deployment/"+u.name, &spec.Container)
	spec.Ports = c.ports(u)
	c.restart(u, s, &spec)
	c.replicas(u, s, &spec)
	c.health(u, &spec)
	c.update(u, s.Deploy, &spec)
	spec.DependsOn = c.dependsOn(u)
	spec.DockerOptions = u.flags()
	if len(s.Profiles) > 0 {
		c.report.lost(at+".profiles", "what is applied runs; leave the block out to keep it from that")
	}
	var shared []api.IngressSpec
	if n := spec.ReplicaCount(); n > 1 {
		shared, spec.Ports = sharedPorts(u.name, spec.Ports)
		if slices.ContainsFunc(spec.Ports, api.FixedHostPort) {
			c.report.note(at+".ports", "%d replicas can't all have one port of the host: take the host's port out, or set replicas to 1", n)
		}
	}
	if err := c.add(api.KindDeployment, u, spec); err != nil {
		return err
	}
	for _, in := range shared {
		own := *u
		own.name = portName(u.name, in.ListensAt())
		c.report.note(at+".ports", "ingress/%s/%s listens at %s of every node, for all replicas", c.scope, own.name, in.ListensAt())
		if err := c.add(api.KindIngress, &own, in); err != nil {
			return err
		}
	}
	return nil
}

// runsOnce returns why a service can't be a deployment, or "".
func (c *converter) runsOnce(s types.ServiceConfig) string {
	switch {
	case s.Deploy != nil && strings.HasSuffix(s.Deploy.Mode, "-job"):
		return "deploy.mode is " + s.Deploy.Mode
	case c.once[s.Name]:
		return "others wait for it to complete"
	case len(s.Profiles) > 0 && (s.Restart == "no" || s.Restart == "") && s.HealthCheck == nil && len(s.Ports) == 0:
		return "it has a profile, and nothing that serves or restarts"
	}
	return ""
}

func (c *converter) serviceJob(u *unit, s types.ServiceConfig, reason string) error {
	c.deployLimits(u, s.Deploy)
	spec := api.JobSpec{Container: c.container(u)}
	c.reservations(u, s.Deploy, &spec.Container)
	c.placement(u, s.Deploy, "", &spec.Container)
	spec.DependsOn = c.dependsOn(u)
	spec.DockerOptions = u.flags()
	c.report.carry(u.at+".profiles", u.at+".profiles[*]", u.at+".restart", u.at+".deploy.mode")
	c.report.note(u.at, "became a job, because %s; applying it runs nothing: `tend run %s/%s` does", reason, c.scope, u.name)
	return c.add(api.KindJob, u, spec)
}

// add adds the object, without the fields that Tend would refuse.
func (c *converter) add(kind api.Kind, u *unit, spec any) error {
	raw, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	object := api.Object{Kind: kind, Scope: c.scope, Name: u.name, Spec: raw}
	for range 16 {
		faults := manifest.Validate(object)
		if len(faults) == 0 {
			c.sections = append(c.sections, manifest.Section{Object: object})
			return nil
		}
		if object.Spec, err = c.dropRefused(u, object.Spec, faults); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: can't be carried", u.at)
}

// errRequired is an error that leaving the field out does not fix.
var errRequired = errors.New("Tend can't run it")

// dropRefused removes the fields that validation refuses, and reports each.
func (c *converter) dropRefused(u *unit, raw json.RawMessage, faults []api.FieldError) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	before := len(fields)
	for _, fault := range faults {
		top, _, _ := strings.Cut(fault.Field, ".")
		top, _, _ = strings.Cut(top, "[")
		if top == "docker_options" && u.dropConflicting(c, fields) {
			return json.Marshal(fields)
		}
		if top == "image" || top == "schedule" || top == "name" || top == "scope" || top == "" {
			return nil, fmt.Errorf("%s: %w: %s: %s", u.at, errRequired, fault.Field, fault.Detail)
		}
		delete(fields, top)
		c.report.lost(u.at+"."+top, "%s: %s", fault.Field, fault.Detail)
	}
	if len(fields) == before {
		return nil, fmt.Errorf("%s: %w: %s", u.at, errRequired, faults[0].Error())
	}
	return json.Marshal(fields)
}

// duration returns a duration in the form of manifests.
func duration(d time.Duration) api.Duration {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return api.Duration(text)
}
