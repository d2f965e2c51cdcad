package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/manifest"
	"tend.dev/tend/internal/runtime/docker"
)

// fit chooses the services that are taken over, and makes their objects go on from where the containers stop.
func (p *composeProject) fit(containers []docker.ComposeContainer) error {
	services := byService(containers)
	sections := map[string]int{}
	for i, s := range p.read.Sections {
		if s.Object.Kind != api.KindIngress && s.Object.Kind != api.KindAsset {
			sections[s.Object.Name] = i
		}
	}
	drop := map[int]bool{}
	kept := map[string]bool{}
	names := sortedKeys(services)
	for i, service := range names {
		if same := slices.IndexFunc(names[:i], func(n string) bool { return objectName(n) == objectName(service) }); same >= 0 {
			return fmt.Errorf("the services %s and %s are both called %s in Tend: rename one of them", names[same], service, objectName(service))
		}
		at, has := sections[objectName(service)]
		if !has {
			p.left = append(p.left, service+": the files have no such service, or it can't be carried")
			continue
		}
		section := &p.read.Sections[at]
		kept[section.Object.Name] = true
		taken := takeover.Service{Containers: plainContainers(services[service])}.Taken()
		switch {
		case section.Object.Kind != api.KindDeployment:
			if taken {
				p.left = append(p.left, service+": it became a job; its container is left alone")
			}
			useImage(&section.Object, services[service][0].Image)
			continue
		case !taken:
			p.left = append(p.left, service+": none of its containers runs")
			drop[at] = true
			continue
		}
		if err := p.fitSection(section, service, services[service]); err != nil {
			return err
		}
	}
	for i, s := range p.read.Sections {
		if s.Object.Kind == api.KindDeployment && !kept[s.Object.Name] {
			p.left = append(p.left, s.Object.Name+": it has no container")
			drop[i] = true
		}
	}
	return p.collect(names, sections, drop)
}

// fitSection makes one service's manifest fit its containers.
func (p *composeProject) fitSection(section *manifest.Section, service string, of []docker.ComposeContainer) error {
	spec, err := api.DecodeSpec[api.DeploymentSpec](section.Object)
	if err != nil {
		return err
	}
	runs := of[0].Runs
	for _, other := range of[1:] {
		for i := range runs.Networks {
			runs.Networks[i].Aliases = common(runs.Networks[i], other.Networks)
		}
	}
	runs.Containers = len(of)
	spec, notes := takeover.Fit(spec, runs)
	p.notes[service], p.keeps[service] = notes, keptOf(of[0], spec)
	section.Object.Spec, err = json.Marshal(spec)
	return err
}

// keptOf says what of a service's containers stays as it is.
func keptOf(of docker.ComposeContainer, spec api.DeploymentSpec) (out []string) {
	for _, mount := range of.Mounts {
		name := mount.Volume
		if len(name) == 64 {
			name = name[:12] + "…"
		}
		out = append(out, fmt.Sprintf("volume %s at %s", name, mount.Target))
	}
	for _, source := range of.Writes {
		if filepath.IsAbs(source) {
			out = append(out, "folder "+source)
		}
	}
	for _, network := range of.Networks {
		out = append(out, "network "+network.Name)
	}
	for _, port := range spec.Ports {
		out = append(out, "port "+port)
	}
	return out
}

// common returns the names of a container on a network that another container of the service has too.
func common(network takeover.Network, others []takeover.Network) []string {
	return slices.DeleteFunc(slices.Clone(network.Aliases), func(alias string) bool {
		return !slices.ContainsFunc(others, func(o takeover.Network) bool { return o.Name == network.Name && slices.Contains(o.Aliases, alias) })
	})
}

// useImage names the image that a job's container was made from, in place of its build.
func useImage(object *api.Object, image string) {
	var spec map[string]any
	if json.Unmarshal(object.Spec, &spec) != nil || spec["build"] == nil {
		return
	}
	delete(spec, "build")
	spec["image"] = image
	object.Spec, _ = json.Marshal(spec)
}

// collect writes the manifests that are kept, and says which objects are whose.
func (p *composeProject) collect(services []string, at map[string]int, drop map[int]bool) error {
	dropped := map[string]bool{}
	for i := range drop {
		dropped[p.read.Sections[i].Object.Name] = true
	}
	var sections []manifest.Section
	ingresses := map[string][]api.Ref{}
	for i, s := range p.read.Sections {
		if s.Object.Kind == api.KindIngress {
			spec, err := api.DecodeSpec[api.IngressSpec](s.Object)
			if err != nil {
				return err
			}
			ingresses[spec.Service] = append(ingresses[spec.Service], s.Object.Ref())
			drop[i] = dropped[spec.Service]
		}
		if !drop[i] {
			sections = append(sections, s)
		}
	}
	of := map[string]string{}
	for _, service := range services {
		i, has := at[objectName(service)]
		if !has || drop[i] || p.read.Sections[i].Object.Kind != api.KindDeployment {
			continue
		}
		object := p.read.Sections[i].Object
		of[string(object.Kind)+"/"+object.Name] = service
		spec, err := api.DecodeSpec[api.DeploymentSpec](object)
		if err != nil {
			return err
		}
		one := composeService{name: service, objects: append([]api.Ref{object.Ref()}, ingresses[object.Name]...)}
		if spec.DependsOn != nil {
			one.needs = spec.DependsOn.Workloads
		}
		p.services = append(p.services, one)
	}
	for i := range p.services {
		needs := p.services[i].needs
		p.services[i].needs = nil
		for _, needed := range needs {
			p.services[i].needs = append(p.services[i].needs, of[needed])
		}
	}
	if len(sections) > 0 {
		sections[0].Comments = append([]string{adoptedLine + "The networks are those of the Compose project."}, sections[0].Comments...)
	}
	var err error
	p.text, err = manifest.Write(sections)
	return err
}

// byService groups containers.
func byService(containers []docker.ComposeContainer) map[string][]docker.ComposeContainer {
	out := map[string][]docker.ComposeContainer{}
	for _, c := range containers {
		out[c.Service] = append(out[c.Service], c)
	}
	return out
}

func plainContainers(of []docker.ComposeContainer) (out []takeover.Container) {
	for _, c := range of {
		out = append(out, c.Container)
	}
	return out
}
