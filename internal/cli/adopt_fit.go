package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/input/compose"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/node/runtime/docker"
)

// fit chooses the services that are taken over, and makes their objects go on from where the containers stop.
func (p *composeProject) fit(containers []docker.ComposeContainer) error {
	p.containers = byService(containers)
	grouped := p.containers
	called := map[string]string{} // object to service
	for _, service := range sortedKeys(grouped) {
		if other, taken := called[compose.Label(service)]; taken {
			return fmt.Errorf("the services %s and %s are both called %s in Tend: rename one of them", other, service,
				compose.Label(service))
		}
		called[compose.Label(service)] = service
	}
	for i := range p.read.Sections {
		object := &p.read.Sections[i].Object
		if object.Kind == api.KindIngress || object.Kind == api.KindAsset {
			continue
		}
		service, has := called[object.Name]
		if !has {
			service = object.Name
		}
		delete(called, object.Name)
		why, err := p.choose(object, service, grouped)
		if err != nil {
			return err
		}
		if why != "" {
			p.left = append(p.left, leftService{service, why, object.Ref()})
			p.dropped[object.Ref()] = why
		}
	}
	for _, name := range sortedKeys(called) {
		p.left = append(p.left, leftService{called[name], notInFiles, api.Ref{}})
	}
	back := (p.ask.undo || p.ask.finish) && slices.ContainsFunc(containers,
		func(c docker.ComposeContainer) bool { return c.Marked() })
	if !back && !slices.ContainsFunc(p.services, func(s composeService) bool { return !s.once }) {
		p.services = nil // what runs once follows the others
	}
	return p.collect()
}

const notInFiles = "the files have no such service, or it can't be carried"

// choose takes a service over, or says why not.
func (p *composeProject) choose(
	object *api.Object, service string, grouped map[string][]docker.ComposeContainer,
) (why string, err error) {
	of := grouped[service]
	running := slices.ContainsFunc(of, func(c docker.ComposeContainer) bool { return c.Running })
	live := slices.DeleteFunc(slices.Clone(of), func(c docker.ComposeContainer) bool { return !c.Live() })
	switch {
	case object.Kind == api.KindJob && running:
		return "it became a job; its container, which still runs, is left alone", nil
	case object.Kind == api.KindJob:
		return "", p.fitJob(object, service, grouped)
	case object.Kind != api.KindDeployment:
		return "", nil
	case len(of) == 0:
		return "it has no container", nil
	case len(live) == 0:
		return "none of its containers runs", nil
	}
	return "", p.fitDeployment(object, service, live)
}

// fitDeployment makes the manifest of a service fit its containers that run, or ran until they were taken over.
func (p *composeProject) fitDeployment(object *api.Object, service string, of []docker.ComposeContainer) error {
	spec, err := api.DecodeSpec[api.DeploymentSpec](*object)
	if err != nil {
		return err
	}
	runs := of[0].Runs
	for _, other := range of[1:] {
		if one, two := dataOf(of[0]), dataOf(other); !slices.Equal(one, two) {
			p.refuse("the containers of %s have different data: %s has %s, %s has %s; nothing was done\n"+
				"  stop or remove those that are out of date, and repeat the command", service, of[0].Original(), orNothing(one),
				other.Original(), orNothing(two))
		}
		for i := range runs.Networks {
			runs.Networks[i].Aliases = common(runs.Networks[i], other.Networks)
		}
	}
	runs.Containers = len(of)
	spec, p.notes[service] = takeover.Fit(spec, runs)
	p.keeps[service] = keptOf(of[0], spec)
	p.add(composeService{name: service, objects: []api.Ref{object.Ref()}, volumes: namedVolumes(spec)}, spec.DependsOn)
	object.Spec, err = json.Marshal(spec)
	return err
}

// fitJob makes the manifest of what runs once fit its ended container. Without one it joins the networks of the others.
func (p *composeProject) fitJob(
	object *api.Object, service string, grouped map[string][]docker.ComposeContainer,
) error {
	spec, err := api.DecodeSpec[api.JobSpec](*object)
	if err != nil {
		return err
	}
	var runs takeover.Runs
	if of := grouped[service]; len(of) > 0 {
		runs = of[0].Runs
		runs.Containers = len(of)
	} else if names := sortedKeys(grouped); len(names) > 0 {
		for _, network := range grouped[names[0]][0].Networks {
			runs.Networks = append(runs.Networks, takeover.Network{Name: network.Name})
		}
	}
	fitted, notes := takeover.Fit(api.DeploymentSpec{Container: spec.Container}, runs)
	spec.Container, p.notes[service] = fitted.Container, notes
	s := composeService{name: service, objects: []api.Ref{object.Ref()}, once: true, again: spec.RunOnRelease,
		volumes: namedVolumes(fitted)}
	p.add(s, spec.DependsOn)
	object.Spec, err = json.Marshal(spec)
	return err
}

// unfit returns an error for a project that can't be taken over as it is. It can still be given back.
func (p *composeProject) unfit() error {
	for _, w := range p.waits { // its pod would wait for it, and the old container be stopped
		if why := p.dropped[w.object]; why != "" {
			p.refuse("%s waits for %s, which is not taken over: %s; nothing was done\n"+
				"  start it, or wait for its end if it runs once, and repeat the command", w.service, w.object.Name, why)
		}
	}
	return p.refused
}

// refuse notes why the project can't be taken over.
func (p *composeProject) refuse(format string, args ...any) {
	if p.refused == nil {
		p.refused = fmt.Errorf(format, args...)
	}
}

// add adds a service with what it needs, by their objects until collect knows the services.
func (p *composeProject) add(s composeService, depends *api.DependsOn) {
	if depends != nil {
		s.needs = depends.Workloads
	}
	p.services = append(p.services, s)
}

// keptOf lists what of a service's containers stays as it is.
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

// dataOf lists the volumes with a name, by where they are mounted, and the folders that a container writes to.
func dataOf(of docker.ComposeContainer) (out []string) {
	for _, mount := range of.Mounts {
		if !takeover.Nameless(mount.Volume) {
			out = append(out, mount.Volume+" at "+mount.Target)
		}
	}
	for _, source := range of.Writes {
		if filepath.IsAbs(source) {
			out = append(out, source)
		}
	}
	slices.Sort(out)
	return out
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return join(list)
}

// namedVolumes returns the volumes of the engine that a spec's pods may write to.
func namedVolumes(spec api.DeploymentSpec) []string {
	return slices.DeleteFunc(volumes.Written(spec), func(source string) bool { return strings.ContainsRune(source, '/') })
}

// common returns the names of a container on a network that another container of the service has too.
func common(network takeover.Network, others []takeover.Network) []string {
	return slices.DeleteFunc(slices.Clone(network.Aliases), func(alias string) bool {
		return !slices.ContainsFunc(others,
			func(o takeover.Network) bool { return o.Name == network.Name && slices.Contains(o.Aliases, alias) })
	})
}

// collect writes the manifests that are kept, and says which ingresses and needs are whose.
func (p *composeProject) collect() error {
	services := map[string]*composeService{}
	for i := range p.services {
		s := &p.services[i]
		services[string(s.objects[0].Kind)+"/"+s.objects[0].Name] = s
	}
	for i := range p.services {
		var needs []string
		for _, needed := range p.services[i].needs {
			if other := services[needed]; other != nil {
				needs = append(needs, other.name)
			}
			for ref := range p.dropped {
				if needed == string(ref.Kind)+"/"+ref.Name {
					p.waits = append(p.waits, unmetNeed{p.services[i].name, ref})
				}
			}
		}
		p.services[i].needs = needs
	}
	var sections []manifest.Section
	for _, section := range p.read.Sections {
		object := section.Object
		if object.Kind == api.KindIngress {
			spec, err := api.DecodeSpec[api.IngressSpec](object)
			if err != nil {
				return err
			}
			if s := services[string(api.KindDeployment)+"/"+spec.Service]; s != nil {
				s.objects = append(s.objects, object.Ref())
			}
			if p.dropped[api.Ref{Kind: api.KindDeployment, Scope: object.Scope, Name: spec.Service}] != "" {
				continue
			}
		} else if p.dropped[object.Ref()] != "" {
			continue
		}
		sections = append(sections, section)
	}
	if len(sections) > 0 {
		sections[0].Comments = append([]string{"The networks are those of the Compose project."}, sections[0].Comments...)
	}
	text, err := manifest.Write(sections)
	p.text = signed(text)
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
