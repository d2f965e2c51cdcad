package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compose"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/manifest"
	"tend.dev/tend/internal/runtime/docker"
)

// composeProject is a Compose project on this machine, with what its files become.
type composeProject struct {
	ask    adoption
	name   string
	engine *docker.Compose
	// read is what the importer made of the files.
	read compose.Result
	// file is where the manifests lie, text what they are, plain what `tend init` would write there.
	file        string
	text, plain []byte
	// services are those with an object; notes what differs from the files, by service.
	services []composeService
	notes    map[string][]string
	// left says why what is in the files, or runs, is not taken over.
	left []string
}

// composeService is a service and its objects: the workload, and the ingresses of its ports.
type composeService struct {
	name    string
	objects []api.Ref
	needs   []string
}

// adoptedLine begins a manifest that an adoption wrote: another run goes on with it as it is.
const adoptedLine = "Made by `tend adopt compose`. "

// readProject reads the files, and what the engine runs of them.
func readProject(ctx context.Context, ask adoption, args []string) (*composeProject, error) {
	p := &composeProject{ask: ask, notes: map[string][]string{}}
	dir, files, err := ask.sources(args)
	if err != nil {
		return nil, err
	}
	if err := p.readFiles(ctx, dir, files); err != nil {
		return nil, err
	}
	if p.engine, err = docker.OpenCompose(p.name); err != nil {
		return nil, err
	}
	containers, err := p.engine.Containers(ctx)
	if err == nil && len(containers) == 0 {
		err = fmt.Errorf("this machine's engine has no container of the Compose project %s\n"+
			"  name the project with -p, or, if nothing runs: tend init && tend apply", p.name)
	}
	if err == nil {
		err = p.fit(containers)
	}
	if err != nil {
		p.engine.Close()
		return nil, err
	}
	return p, nil
}

// sources returns the folder of the project and its files.
func (ask adoption) sources(args []string) (dir string, files []string, err error) {
	switch {
	case len(args) > 0 && len(ask.files) > 0:
		return "", nil, fmt.Errorf("%s and -f: name the folder or the files", args[0])
	case len(ask.files) > 0:
		return filepath.Dir(ask.files[0]), ask.files, nil
	case len(args) > 0:
		dir = args[0]
	default:
		dir = "."
	}
	files, err = composeFilesIn(dir)
	return dir, files, err
}

// readFiles imports the files for manifests in the folder's .tend.
func (p *composeProject) readFiles(ctx context.Context, dir string, files []string) error {
	environment := os.Environ()
	if p.ask.project != "" {
		environment = append(environment, "COMPOSE_PROJECT_NAME="+p.ask.project)
	}
	at, err := filepath.Abs(filepath.Join(dir, ".tend"))
	if err != nil {
		return err
	}
	from, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	options := compose.Options{Files: files, Dir: at, From: from, Environment: environment}
	if p.read, err = compose.Import(ctx, options); err != nil {
		return err
	}
	if p.name, err = projectName(ctx, p.ask.project, p.read.Scope); err != nil {
		return err
	}
	if p.ask.scope != "" {
		options.Scope = p.ask.scope
		if p.read, err = compose.Import(ctx, options); err != nil {
			return err
		}
	}
	p.file = filepath.Join(at, p.read.Scope+".hcl")
	p.plain, err = manifest.Write(p.read.Sections)
	return err
}

// projectName returns the project's name as its containers have it, which may have an underscore where a scope has a dash.
func projectName(ctx context.Context, given, scope string) (string, error) {
	if given != "" {
		return given, nil
	}
	all, err := docker.ComposeProjects(ctx)
	if err != nil {
		return "", err
	}
	var named []string
	for _, name := range all {
		if objectName(name) == scope {
			named = append(named, name)
		}
	}
	switch len(named) {
	case 0:
		return scope, nil
	case 1:
		return named[0], nil
	}
	return "", fmt.Errorf("the Compose projects %s are all called %s in Tend\n  name one with -p, and its scope with --scope", join(named), scope)
}

// objectName returns what the importer calls a project or a service, apart from those that would share a name.
func objectName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
}

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
	p.notes[service] = notes
	section.Object.Spec, err = json.Marshal(spec)
	return err
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
