package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/compose"
	"tend.dev/tend/internal/input/manifest"
)

func (a *app) importCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "import",
		Short: "write manifests from what other tools read",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(a.importComposeCommand(), a.importProcfileCommand())
	return command
}

// destination is the target of an import's manifests.
type destination struct {
	file  string
	force bool
}

func (d *destination) flags(command *cobra.Command, usage string) {
	command.Flags().StringVarP(&d.file, "out", "O", "", usage)
	command.Flags().BoolVar(&d.force, "force", false, "overwrite an existing file")
}

// dir returns the folder the text will lie in: paths in it are relative to that one.
func (d *destination) dir() string {
	if d.file == "" || d.file == "-" {
		return "."
	}
	return filepath.Dir(d.file)
}

// write writes the text to the file or to standard output. It replaces an existing file, which may hold the user's
// work, only with --force.
func (d *destination) write(a *app, text []byte) error {
	if d.file == "" || d.file == "-" {
		_, err := a.out.Write(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.file), 0o755); err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !d.force {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(d.file, flags, 0o600) // values of .env may be in it
	if os.IsExist(err) {
		return fmt.Errorf("%s is there already\n  write over it with --force, or name another file with -O", d.file)
	}
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

func (a *app) importComposeCommand() *cobra.Command {
	var (
		to     destination
		scope  string
		strict bool
	)
	command := &cobra.Command{
		Use:   "compose [FILE...]",
		Short: "write manifests from Compose files, and report what could not be carried",
		Long: "Write manifests from Compose files: on standard output, or into the file -O names. Every key that is not carried,\n" +
			"or is carried with another meaning, is reported on standard error with its place and its weight: what breaks, what\n" +
			"changes behaviour, and trifles. The next steps follow, in order.\n\n" +
			"Exit status: 0, 1 a file that Compose or Tend could not run, 2 where something breaks, with --strict also where\n" +
			"something was not carried.",
		Example: "  tend import compose > prod.hcl\n  tend import compose compose.yaml compose.prod.yaml --scope prod -O prod.hcl --strict",
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := composeFiles(args)
			if err != nil {
				return err
			}
			result, err := readCompose(cmd.Context(), files, scope, to.dir())
			if err != nil {
				return err
			}
			return a.writeCompose(result, to, strict)
		},
	}
	to.flags(command, "write the manifests into `FILE`")
	command.Flags().StringVar(&scope, "scope", "", "`SCOPE` of the manifests (default: the project's name)")
	command.Flags().BoolVar(&strict, "strict", false, "exit 2 where anything was not carried")
	return command
}

// readCompose imports Compose files for manifests that will lie in a folder. The default scope is the project's name.
func readCompose(ctx context.Context, files []string, scope, folder string) (compose.Result, error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return compose.Result{}, err
	}
	from, err := filepath.Abs(".")
	if err != nil {
		return compose.Result{}, err
	}
	return compose.Import(ctx, compose.Options{Files: files, Scope: scope, Dir: dir, From: from,
		Environment: os.Environ()})
}

// writeCompose writes the result of an import, and reports.
func (a *app) writeCompose(result compose.Result, to destination, strict bool) error {
	text, err := manifest.Write(result.Sections)
	if err != nil {
		return err
	}
	if err := to.write(a, text); err != nil {
		return err
	}
	return a.reportImport(result, to, strict)
}

// composeFiles returns the files named, or the ones Compose itself would take.
func composeFiles(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	return composeFilesIn(".")
}

// composeFilesIn returns the files that Compose would take in a folder.
func composeFilesIn(dir string) ([]string, error) {
	for _, pair := range [][2]string{
		{"compose.yaml", "compose.override.yaml"}, {"compose.yml", "compose.override.yml"},
		{"docker-compose.yaml", "docker-compose.override.yaml"}, {"docker-compose.yml", "docker-compose.override.yml"},
	} {
		main, override := filepath.Join(dir, pair[0]), filepath.Join(dir, pair[1])
		if _, err := os.Stat(main); err != nil {
			continue
		}
		if _, err := os.Stat(override); err == nil {
			return []string{main, override}, nil
		}
		return []string{main}, nil
	}
	if dir != "." {
		return nil, fmt.Errorf("there is no compose.yaml in %s", dir)
	}
	return nil, fmt.Errorf("there is no compose.yaml here\n  name the file: tend import compose FILE")
}

// reportImport prints what became of the keys, the heaviest losses first, and the next steps.
func (a *app) reportImport(result compose.Result, to destination, strict bool) error {
	manifest := to.file
	if manifest == "-" {
		manifest = ""
	}
	from, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	fmt.Fprint(a.err, printable(result.Report(compose.ReportOptions{From: from, Manifest: manifest}), "\n"))
	if result.Count(compose.Breaks) > 0 || strict && result.Lost() > 0 {
		return &exitStatus{code: exitChanges}
	}
	return nil
}

func (a *app) importProcfileCommand() *cobra.Command {
	var (
		to   destination
		from sources
	)
	command := &cobra.Command{
		Use:   "procfile [FILE]",
		Short: "write manifests from a Procfile, as a starting point",
		Long: "Write the manifests that `tend apply` would make of a Procfile: into .tend/SCOPE.hcl, or the file -O names. From then\n" +
			"on apply that file: `tend apply -f` reads .tend/SCOPE.hcl by its name alone.",
		Example: "  tend import procfile --image ghcr.io/example/app:1\n  tend import procfile Procfile --app shop -O -",
		Args:    takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{manifest.Procfile}
			}
			loaded, err := from.load(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			var sections []manifest.Section
			if to.file == "" {
				to.file = filepath.Join(".tend", loaded.Objects[0].Scope+".hcl")
			}
			for _, object := range loaded.Objects {
				if object.Spec, err = builtFrom(object, loaded.Builds, to.file); err != nil {
					return err
				}
				sections = append(sections, manifest.Section{Object: object})
			}
			text, err := manifest.Write(sections)
			if err != nil {
				return err
			}
			if err := to.write(a, text); err != nil || to.file == "-" {
				return err
			}
			if _, err = fmt.Fprintln(a.out, to.file); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.err, nextLabel+"tend apply -f "+to.file) // without -f it is the Procfile
			return err
		},
	}
	to.flags(command, "write the manifests into `FILE` (- is standard output; default .tend/SCOPE.hcl)")
	from.procfileFlags(command)
	return command
}

// builtFrom returns an object's spec with the folder it is built from, as it is seen from a manifest.
func builtFrom(object api.Object, builds []manifest.Source, file string) (json.RawMessage, error) {
	i := slices.IndexFunc(builds, func(source manifest.Source) bool { return source.Object == object.Ref() })
	if i < 0 {
		return object.Spec, nil
	}
	folder, err := filepath.Abs(builds[i].Folder)
	if err != nil {
		return nil, err
	}
	at := "." // output on standard output is meant to lie beside the Procfile
	if file != "-" {
		if at, err = filepath.Abs(filepath.Dir(file)); err != nil {
			return nil, err
		}
		if at, err = filepath.Rel(at, folder); err != nil {
			return nil, err
		}
	}
	var spec map[string]any
	if err := json.Unmarshal(object.Spec, &spec); err != nil {
		return nil, err
	}
	spec["build"] = map[string]any{"context": filepath.ToSlash(at)}
	return json.Marshal(spec)
}
