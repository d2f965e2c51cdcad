package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/internal/input/manifest"
)

// Options are the options of Import. Only Files is required.
type Options struct {
	// Files are Compose files; later ones are merged over earlier ones, as Compose does.
	Files []string
	// Scope of the manifests. Default: the project's name.
	Scope string
	// Dir is the folder for the manifests: their paths are relative to it. Default: paths are absolute.
	Dir string
	// From is the folder in which the user runs the report's commands: their paths are relative to it. Default: paths are
	// absolute.
	From string
	// Environment are NAME=value entries for variables in the files; a .env file beside the first file is read too.
	Environment []string

	// valid skips the validation of the files: it saves time in a test that reads one file a hundred times.
	valid bool
	// filled marks a second import, in which variables without a value got one, to find out whether they caused a failure.
	filled bool
}

// Result is the result of importing a Compose file.
type Result struct {
	// Scope is the scope of the manifests.
	Scope string
	// Sections are the manifests, with comments.
	Sections []manifest.Section
	// Findings lists losses and changes, in the order of the files.
	Findings []Finding

	steps steps
}

// Lost counts the findings that were not converted.
func (r Result) Lost() int {
	n := 0
	for _, f := range r.Findings {
		if f.Lost {
			n++
		}
	}
	return n
}

// ErrNoServices is returned for a file without anything to run.
var ErrNoServices = errors.New("the file declares no services")

// Import reads Compose files and turns them into manifests.
func Import(ctx context.Context, o Options) (Result, error) {
	if len(o.Files) == 0 {
		return Result{}, errors.New("no Compose file is named")
	}
	var heard warnings
	project, environment, err := load(ctx, o, &heard)
	raw, unread := readRaw(o.Files)
	unset, first := unsetVariables(raw, environment)
	switch {
	case err != nil && o.filled:
		return Result{}, err
	case err != nil:
		if blamed := blame(ctx, o, unset, err); blamed != err { //nolint:errorlint // the very same one, not one that wraps it
			return Result{}, blamed
		}
		return Result{}, explained(o, raw, err)
	case unread != nil:
		return Result{}, unread
	}
	scope := o.Scope
	if scope == "" {
		scope = Label(project.Name)
	}
	c := &converter{project: project, scope: scope, dir: project.WorkingDir, beside: o.Dir,
		from: o.From, report: newReport()}
	if len(project.Services)+len(project.Jobs) == 0 {
		return Result{}, fmt.Errorf("%s: %w", o.Files[0], ErrNoServices)
	}
	if err := c.convert(); err != nil {
		return Result{}, blame(ctx, o, unset, err)
	}
	c.report.variables(raw)
	c.report.unset(o.Files[0], unset, first)
	for _, text := range heard.texts {
		c.report.add(Finding{File: o.Files[0], Path: "compose", Text: text})
	}
	c.steps.variables, c.steps.project = unique(append(c.steps.variables, unset...)), project.Name
	return Result{Scope: scope, Sections: c.sections, Findings: c.report.finish(raw), steps: c.steps}, nil
}

// load reads the project as `docker compose` does, with all profiles. It also returns the variables that it met, up to
// the error if there is one.
func load(
	ctx context.Context, o Options, heard *warnings,
) (project *types.Project, environment map[string]string, err error) {
	registerRaw()
	defer heard.listen()()
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("read Compose file: the reader failed: %v", failed)
		}
	}()
	dir, err := filepath.Abs(filepath.Dir(o.Files[0]))
	if err != nil {
		return nil, nil, err
	}
	options, err := cli.NewProjectOptions(o.Files, cli.WithWorkingDirectory(dir), cli.WithEnv(o.Environment),
		cli.WithEnvFiles(), cli.WithDotEnv,
		cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true), cli.WithDiscardEnvFile,
		cli.WithLoadOptions(func(l *loader.Options) { l.SkipValidation = o.valid }))
	if err != nil {
		return nil, nil, fmt.Errorf("read Compose file: %w", err)
	}
	if project, err = options.LoadProject(ctx); err != nil {
		return nil, options.Environment, fmt.Errorf("read Compose file: %w", err)
	}
	return project, options.Environment, nil
}

// converter turns a project into manifests.
type converter struct {
	project *types.Project
	scope   string
	dir     string
	// beside is the folder of the manifests, for relative paths; empty for absolute ones.
	beside string
	// from is the folder in which the commands of the report are run, likewise.
	from     string
	report   *report
	sections []manifest.Section
	// names are the objects' names by service or job.
	names map[string]string
	// assetKeys and secretKeys are the keys of configs and secrets by the names that the file gives them.
	assetKeys, secretKeys map[string]string
	// once are the services that run to their end.
	once map[string]oneShot
	// called are the further names of services.
	called map[string][]naming
	// routes holds, per service, the routes that its labels declare. proxies holds the services that did the routing, with
	// the reason for leaving them out.
	routes  map[string]*siteRoutes
	proxies map[string]string
	// claimed holds, per path of a host, where its ingress leads. shared holds what Traefik's routers have in common.
	claimed map[string]string
	shared  traefikShared
	// ingresses holds the names of ingresses that are in use.
	ingresses map[string]bool
	steps     steps
}

func (c *converter) convert() error {
	c.topLevel()
	c.findRoutes()
	c.findOnce()
	c.nameAll()
	c.findAliases()
	c.assets()
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		if err := c.service(c.project.Services[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Jobs)) {
		if err := c.job(c.project.Jobs[name]); err != nil {
			return err
		}
	}
	return nil
}

// topLevel converts the sections besides services.
func (c *converter) topLevel() {
	r := c.report
	r.carry("name", "services", "jobs", "volumes", "networks", "secrets", "configs")
	r.carryAll("include") // the files it names are converted themselves
	r.carryAll("version") // Compose itself ignores it
	if Label(c.project.Name) != c.scope {
		r.note("name", "the manifests are of scope %s", c.scope)
	}
	c.declaredVolumes()
	c.declaredNetworks()
}

// nameAll gives each service, job, config and secret a valid and unique name.
func (c *converter) nameAll() {
	c.names = map[string]string{}
	all := slices.Collect(maps.Keys(c.project.Services))
	for name := range c.project.Jobs {
		if _, service := c.project.Services[name]; !service {
			all = append(all, name)
		}
	}
	names := distinct(all, Label, dashed)
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		c.name(join("services", name), name, names[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Jobs)) {
		unique := names[name]
		if _, service := c.project.Services[name]; service {
			for n := 2; slices.Contains(slices.Collect(maps.Values(names)), unique); n++ {
				unique = dashed(names[name], n)
			}
		}
		c.name(join("jobs", name), name, unique)
	}
	c.assetKeys = distinct(slices.Collect(maps.Keys(c.project.Configs)), assetKey, underscored)
	c.secretKeys = distinct(slices.Collect(maps.Keys(c.project.Secrets)), configKey, underscored)
}

func (c *converter) name(at, name, unique string) {
	c.names[at] = unique
	switch {
	case unique == name:
	case unique == strings.ToLower(name), strings.HasPrefix(at, "jobs"), c.once[name].why != "":
		c.report.note(at, "is called %s here", unique)
	default:
		c.report.note(at, "is called %s here: names are a-z, 0-9 and dashes; others reach it as %s, too", unique, name)
	}
}
