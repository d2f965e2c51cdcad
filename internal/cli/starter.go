package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/input/manifest"
)

// starter is the input for a first manifest.
type starter struct {
	// file is the file that was found, or empty; what names it in the manifest.
	file, what string
	// port is the port that the program listens on, if the folder tells it.
	port string
}

// sourceFiles are the files that show that a folder can be built, and its language. The first one that exists counts.
var sourceFiles = []struct{ file, what string }{
	{"Dockerfile", "a Dockerfile"}, {"go.mod", "a Go module"}, {"package.json", "a Node.js project"},
	{"requirements.txt", "a Python project"},
	{"pyproject.toml", "a Python project"}, {"Gemfile", "a Ruby project"},
}

// findStarter chooses a starter by the files in a folder. The most specific files come first.
func findStarter(folder string) starter {
	there := func(file string) bool {
		info, err := os.Stat(filepath.Join(folder, file))
		return err == nil && !info.IsDir()
	}
	for _, file := range []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"} {
		if there(file) {
			return starter{file: file, what: "a Compose file"}
		}
	}
	if there(manifest.Procfile) {
		return starter{file: manifest.Procfile, what: "a Procfile"}
	}
	for _, source := range sourceFiles {
		if !there(source.file) {
			continue
		}
		found := starter{file: source.file, what: source.what}
		if source.file == "Dockerfile" {
			found.port = exposed(filepath.Join(folder, source.file))
		}
		return found
	}
	return starter{}
}

var exposeLine = pattern.Lazy(`(?i)^\s*EXPOSE\s+([0-9]+)(/tcp)?(\s|$)`)

// exposed returns the first port a Dockerfile exposes; empty if it names none, or names it by a variable.
func exposed(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if found := exposeLine().FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	return ""
}

// text returns the manifest of a folder that is built, or a commented one if nothing was found.
func (s starter) text(scope string) string {
	var out strings.Builder
	if s.file == "" {
		fmt.Fprintf(&out,
			"# A first manifest: set image to what is to run, then `tend apply`.\ndeployment %q \"web\" {\n  image    = \"nginx:1\"\n", scope)
	} else {
		fmt.Fprintf(&out,
			"# Made by `tend init` of %s: `tend apply` builds the folder and runs it.\ndeployment %q \"web\" {\n  build {\n    context = \".\"\n  }\n", s.what, scope)
	}
	out.WriteString("  replicas = 1\n")
	if s.port != "" {
		fmt.Fprintf(&out, "  ports    = [%q] # published on a free port of 127.0.0.1\n", s.port)
	} else {
		out.WriteString("  # ports = [\"8080\"] # the container's port, published on a free port of 127.0.0.1\n")
	}
	out.WriteString(starterRest)
	return out.String()
}

const starterRest = `  # env = { LOG_LEVEL = "info" } # secrets: tend config set SCOPE/web KEY=-

  # probes {
  #   readiness {
  #     http_get {
  #       path = "/"
  #       port = 8080
  #     }
  #   }
  # }
}
`

func (a *app) initCommand() *cobra.Command {
	var scope string
	command := &cobra.Command{
		Use:   "init",
		Short: "write a first manifest from what this folder holds",
		Long: "Write .tend/SCOPE.hcl from what this folder holds, the first of: a Compose file, a Procfile, a Dockerfile, go.mod,\n" +
			"package.json, requirements.txt or pyproject.toml, Gemfile; else a manifest to fill in. No file is overwritten, and\n" +
			"nothing is applied.",
		Example: "  tend init\n  tend init --scope prod",
		Args:    takes(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.start(cmd.Context(), scope) },
	}
	command.Flags().StringVar(&scope, "scope", "",
		"`SCOPE` of the manifest (default: the Compose file's name, else the folder's)")
	return command
}

// start writes the first manifest of the working directory.
func (a *app) start(ctx context.Context, scope string) error {
	if found, err := manifest.Manifests("."); err == nil {
		return fmt.Errorf("there are manifests in %s already; nothing was written%s", found, nextLine("  ", "tend diff"))
	}
	found := findStarter(".")
	if found.file == "" {
		fmt.Fprintln(a.err, "found nothing to begin with")
	} else {
		fmt.Fprintf(a.err, "found %s (%s)\n", found.file, found.what)
	}
	if found.what == "a Compose file" {
		return a.startFromCompose(ctx, scope)
	}
	if scope == "" {
		folder, err := filepath.Abs(".")
		if err != nil {
			return err
		}
		if scope, err = manifest.ScopeOf(filepath.Base(folder)); err != nil {
			return fmt.Errorf("the folder's name makes no scope: name one with --scope")
		}
	}
	to := destination{file: filepath.Join(".tend", scope+".hcl")}
	if found.what == "a Procfile" {
		return execute(ctx, a.importProcfileCommand(), "-O", to.file, "--app", scope)
	}
	if err := to.write(a, []byte(found.text(scope))); err != nil {
		return err
	}
	return a.started(to)
}

// startFromCompose writes what `tend import compose` would: the scope is the project's name.
func (a *app) startFromCompose(ctx context.Context, scope string) error {
	files, err := composeFiles(nil)
	if err != nil {
		return err
	}
	result, err := readCompose(ctx, files, scope, ".tend")
	if err != nil {
		return err
	}
	to := destination{file: filepath.Join(".tend", result.Scope+".hcl")}
	written := a.writeCompose(result, to, false)
	if status := (*exitStatus)(nil); written != nil && !errors.As(written, &status) {
		return written
	}
	if _, err := fmt.Fprintln(a.out, to.file); err != nil {
		return err
	}
	return written // its status says that something breaks; the report has the next steps
}

// started prints the name of the new manifest, and the next step.
func (a *app) started(to destination) error {
	if _, err := fmt.Fprintln(a.out, to.file); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.err, nextLabel+"tend apply")
	return err
}

// execute runs another command of this program with the given arguments.
func execute(ctx context.Context, command *cobra.Command, args ...string) error {
	command.SetArgs(args)
	command.SilenceErrors, command.SilenceUsage = true, true
	return command.ExecuteContext(ctx)
}

// hintOf returns the next step where a folder holds no manifest.
func hintOf(folder string) string {
	switch found := findStarter(folder); found.what {
	case "":
		return "\n  tend init writes one to begin with"
	case "a Compose file":
		return fmt.Sprintf("\n  there is %s: tend init writes a manifest from it, as tend import compose does", found.file)
	default:
		return fmt.Sprintf("\n  there is %s: tend init writes a manifest from it", found.file)
	}
}
