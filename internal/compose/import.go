package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/internal/manifest"
)

// Options say what to import. Only Files is needed.
type Options struct {
	// Files are Compose files; later ones are merged over earlier ones, as Compose does.
	Files []string
	// Scope of the manifests. Default: the project's name.
	Scope string
	// Dir is the folder that the manifests will lie in: paths are written relative to it. Default: paths are absolute.
	Dir string
	// From is the folder in which the commands of the report are to be run: paths in them are relative to it. Default:
	// they are absolute.
	From string
	// Environment are NAME=value entries for variables in the files; a .env file beside the first file is read too.
	Environment []string

	// valid says that the files are known to be valid: it saves time in a test that reads one file a hundred times.
	valid bool
}

// Result is the result of importing a Compose file.
type Result struct {
	// Scope is that of the manifests.
	Scope string
	// Sections are the manifests, with comments.
	Sections []manifest.Section
	// Findings say what was lost and what changed, in the order of the files.
	Findings []Finding
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
	project, err := load(ctx, o, &heard)
	if err != nil {
		return Result{}, err
	}
	raw, err := readRaw(o.Files)
	if err != nil {
		return Result{}, err
	}
	scope := o.Scope
	if scope == "" {
		scope = label(project.Name)
	}
	c := &converter{project: project, scope: scope, dir: project.WorkingDir, beside: o.Dir, from: o.From, report: newReport()}
	if len(project.Services)+len(project.Jobs) == 0 {
		return Result{}, fmt.Errorf("%s: %w", o.Files[0], ErrNoServices)
	}
	if err := c.convert(); err != nil {
		return Result{}, err
	}
	c.report.variables(raw)
	for _, text := range heard.texts {
		c.report.add(Finding{File: o.Files[0], Path: "compose", Text: text})
	}
	return Result{Scope: scope, Sections: c.sections, Findings: c.report.finish(raw)}, nil
}

// load reads the project as `docker compose` would, all profiles included.
func load(ctx context.Context, o Options, heard *warnings) (project *types.Project, err error) {
	defer heard.listen()()
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("read Compose file: the reader failed: %v", failed)
		}
	}()
	dir, err := filepath.Abs(filepath.Dir(o.Files[0]))
	if err != nil {
		return nil, err
	}
	options, err := cli.NewProjectOptions(o.Files, cli.WithWorkingDirectory(dir), cli.WithEnv(o.Environment), cli.WithEnvFiles(), cli.WithDotEnv,
		cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true), cli.WithDiscardEnvFile,
		cli.WithLoadOptions(func(l *loader.Options) { l.SkipValidation = o.valid }))
	if err != nil {
		return nil, fmt.Errorf("read Compose file: %w", err)
	}
	if project, err = options.LoadProject(ctx); err != nil {
		return nil, fmt.Errorf("read Compose file: %w", err)
	}
	return project, nil
}

// converter turns a project into manifests.
type converter struct {
	project *types.Project
	scope   string
	dir     string
	// beside is the folder of the manifests, for relative paths; empty leaves them absolute.
	beside string
	// from is the folder in which the commands of the report are run, likewise.
	from     string
	report   *report
	sections []manifest.Section
	// names are the objects' names by service or job.
	names map[string]string
	// once are the services that others wait for to complete.
	once map[string]bool
}

func (c *converter) convert() error {
	c.topLevel()
	c.nameAll()
	c.findOnce()
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

// topLevel converts what stands beside the services.
func (c *converter) topLevel() {
	r := c.report
	r.carry("name", "services", "jobs", "volumes", "networks", "secrets", "configs")
	r.carryAll("include") // the files it names are converted themselves
	r.carryAll("version") // Compose itself ignores it
	if label(c.project.Name) != c.scope {
		r.note("name", "the manifests are of scope %s", c.scope)
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Volumes)) {
		at := join("volumes", name)
		r.carry(at, at+".name", at+".external")
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Networks)) {
		at, network := join("networks", name), c.project.Networks[name]
		switch {
		case bool(network.External), name == "default":
			r.carry(at, at+".name", at+".external")
		default:
			r.lost(at, "%s", networkAdvice(network))
		}
	}
}

// nameAll gives each service and job a unique name that is valid in Tend.
func (c *converter) nameAll() {
	c.names = map[string]string{}
	taken := map[string]bool{}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		all = append(all, join("services", name))
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Jobs)) {
		all = append(all, join("jobs", name))
	}
	for _, at := range all {
		name := lastKey(at)
		wanted := label(name)
		unique := wanted
		for i := 2; taken[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", wanted, i)
		}
		taken[unique] = true
		c.names[at] = unique
		if unique != name {
			c.report.note(at, "is called %s: names are a-z, 0-9 and dashes, each once", unique)
		}
	}
}

// findOnce finds the services that run to completion, because others wait for that.
func (c *converter) findOnce() {
	c.once = map[string]bool{}
	for _, service := range c.project.Services {
		for name, d := range service.DependsOn {
			if d.Condition == types.ServiceConditionCompletedSuccessfully {
				c.once[name] = true
			}
		}
	}
}
