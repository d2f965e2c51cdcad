package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/input/compose"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/node/runtime/docker"
)

// composeProject is a Compose project on this machine, with what its files become.
type composeProject struct {
	ask    adoption
	args   []string
	name   string
	engine *docker.Compose
	// read is the importer's result for the files.
	read compose.Result
	// file is the path of the manifests, text their content, plain the content that `tend init` would write.
	file        string
	text, plain []byte
	// services lists the services with an object. By service, keeps lists what stays unchanged, and notes the
	// differences from the files.
	services     []composeService
	keeps, notes map[string][]string
	// dropped says why objects of the files are not taken over; refused, why nothing can be as it is now.
	dropped map[api.Ref]string
	refused error
	// waits lists what services wait for and is not taken over, and left why what is in the files, or runs, is not.
	waits []unmetNeed
	left  []leftService
	// kept lists what Tend runs already and this run of the command doesn't take over: the file declares it still.
	kept []api.Ref
	// adds is set if the text has all of the file that was there.
	adds bool
	// containers are those of the project, by service.
	containers map[string][]docker.ComposeContainer
}

// leftService is a service that is not taken over, with its object; without one if the files have no such service.
type leftService struct {
	name, why string
	object    api.Ref
}

// unmetNeed is an object that is not taken over, and the service that waits for it.
type unmetNeed struct {
	service string
	object  api.Ref
}

// composeService is a service and its objects: the workload, and the ingresses of its ports.
type composeService struct {
	name    string
	objects []api.Ref
	needs   []string
	// once is set for a job: its container has ended, and nothing is stopped for it.
	once bool
	// again is set for a job that runs once it is applied.
	again bool
	// volumes are the named ones of its manifest that it may write to.
	volumes []string
	// unlisted is set for one that was taken over and that the files no longer have.
	unlisted bool
}

// readProject reads the files, and what the engine runs of them.
func readProject(ctx context.Context, ask adoption, args []string) (*composeProject, error) {
	p := &composeProject{ask: ask, keeps: map[string][]string{}, notes: map[string][]string{},
		dropped: map[api.Ref]string{}, args: args}
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
	if err == nil && len(containers) == 0 && (ask.undo || ask.finish) {
		return p, nil // there is nothing to do, and nothingLeft says why
	}
	if err == nil && len(containers) == 0 {
		err = p.nothingThere()
	}
	if err == nil {
		err = p.explain(takeover.InScope(plainContainers(containers), p.read.Scope))
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

// nothingThere says that the engine has no container of the project, and why, if an adoption was finished here.
func (p *composeProject) nothingThere() error {
	text, _ := os.ReadFile(p.file) // what can't be read was not written by an adoption
	if _, _, adopted := signature(text); adopted {
		return fmt.Errorf("nothing of %s is left to take over: Tend runs it already, from %s\n"+
			"  tend get shows it; to change it, edit that file, and: tend apply -f %s", p.name, p.file, shellQuoted(p.file))
	}
	return fmt.Errorf("this machine's engine has no container of the Compose project %s\n"+
		"  name the project with -p, or, if nothing runs: tend init && tend apply", p.name)
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

// projectName returns the project's name as its containers have it, which may have an underscore where a scope has a
// dash.
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
		if compose.Label(name) == scope {
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

// named returns the project's name, here and in Tend.
func (p *composeProject) named() takeover.Project {
	return takeover.Project{Name: p.name, Scope: p.read.Scope}
}

// command returns the command for this project with other flags.
func (p *composeProject) command(flags ...string) string { return p.commandIn(p.ask.scope, flags...) }

func (p *composeProject) commandIn(scope string, flags ...string) string {
	words := []string{"tend adopt compose"}
	for _, dir := range p.args {
		words = append(words, shellQuoted(dir))
	}
	for _, file := range p.ask.files {
		words = append(words, "-f", shellQuoted(file))
	}
	if p.ask.project != "" {
		words = append(words, "-p", shellQuoted(p.ask.project))
	}
	if scope != "" {
		words = append(words, "--scope", shellQuoted(scope))
	}
	return strings.Join(append(words, flags...), " ")
}

// goal returns the flag of what was asked for.
func (ask adoption) goal() (flags []string) {
	switch {
	case ask.undo:
		return []string{"--undo"}
	case ask.finish:
		return []string{"--finish"}
	}
	return nil
}

// explain adds the next step to a refusal.
func (p *composeProject) explain(err error) error {
	var scope *takeover.ScopeError
	var writer *takeover.WriterError
	switch {
	case errors.As(err, &scope):
		return fmt.Errorf("%w, and this is about the scope %s; nothing was done%s",
			err, p.read.Scope, nextLine("  ", p.commandIn(scope.Scope, p.ask.goal()...)))
	case errors.As(err, &writer) && writer.Scope != "":
		return fmt.Errorf("%w, a pod of the scope %s\n  if the project was taken over into that scope: %s\n  otherwise delete its object",
			err, writer.Scope, p.commandIn(writer.Scope, p.ask.goal()...))
	case errors.As(err, &writer) && writer.Waits:
		return fmt.Errorf("%w\n  docker update --restart no %s, or docker rm it, and repeat the command",
			err, writer.Container)
	case errors.As(err, &writer):
		return fmt.Errorf("%w\n  docker stop %s, and repeat the command", err, writer.Container)
	}
	return err
}
