package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/manifest"
)

// sources are the manifests of a command.
type sources struct {
	files  []string
	format string
	// app and image are what a Procfile doesn't contain: the scope, and the image its processes run in.
	app, image string
	// name is the name of the apply set. Without it, files are identified by their paths on this machine.
	name string
}

func (s *sources) flags(command *cobra.Command) {
	command.Flags().StringArrayVarP(&s.files, "file", "f", nil,
		"manifest: a `FILE`, a directory, or - for stdin (repeatable)")
	command.Flags().StringVar(&s.format, "format", "", "`LANGUAGE` of stdin: hcl, yaml or json")
	_ = command.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions([]string{"hcl", "yaml", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// procfileFlags adds the flags that a Procfile needs besides.
func (s *sources) procfileFlags(command *cobra.Command) {
	command.Flags().StringVar(&s.app, "app", "",
		"`SCOPE` of a Procfile's processes (default: that of .tend/app.json, else the folder's name)")
	command.Flags().StringVar(&s.image, "image", "",
		"image (`REF`) a Procfile's processes run in (default: that of .tend/app.json, else TEND_IMAGE)")
}

func (s *sources) setFlag(command *cobra.Command) {
	command.Flags().StringVar(&s.name, "set", "",
		"`NAME` of what is applied, which --prune goes by (default: the paths of the files on this machine)")
}

// prunable returns an error if another project's sources could look the same.
func (s *sources) prunable(args []string) error {
	if s.name == "" && slices.Contains(append(slices.Clone(s.files), args...), "-") {
		return errors.New("--prune with stdin (-): nothing says which objects are of the same project\n  name them with --set NAME, in every apply of theirs")
	}
	return nil
}

// loadFor is load for a command that may prune. Files that declare nothing are most likely a mistake.
func (s *sources) loadFor(ctx context.Context, a *app, args []string, prune bool) (manifest.Result, error) {
	loaded, err := s.load(ctx, a, args)
	if prune && errors.Is(err, manifest.ErrNoManifest) {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return loaded, fmt.Errorf("%s\n  --prune deletes nothing by files without an object. "+
			"To delete all they declared: tend delete SCOPE/NAME", first)
	}
	return loaded, err
}

func (s *sources) load(ctx context.Context, a *app, args []string) (manifest.Result, error) {
	if len(s.files)+len(args) == 0 {
		found, err := manifest.Defaults(".")
		if errors.Is(err, manifest.ErrNoManifest) {
			return manifest.Result{}, fmt.Errorf("%w%s", err, hintOf("."))
		}
		if err != nil {
			return manifest.Result{}, err
		}
		s.files = found
	}
	files := append(slices.Clone(s.files), args...)
	loaded, err := manifest.Load(manifest.Options{
		Files: files, Stdin: a.in, Format: s.format, App: s.app, Image: s.image, Bucket: a.bucketValue(ctx), Context: ctx,
	})
	for _, warning := range loaded.Warnings {
		fmt.Fprintln(a.err, "warning:", warning)
	}
	return loaded, err
}

// bucketValue returns a function that asks the server for one value of a bucket. The first call connects.
func (a *app) bucketValue(ctx context.Context) func(scope, name, key string) (string, bool, error) {
	connect := sync.OnceValues(a.dial)
	return func(scope, name, key string) (string, bool, error) {
		c, err := connect()
		if err != nil {
			return "", false, err
		}
		defer c.Close()
		value, err := c.ConfigValue(ctx, scope, name, key)
		switch {
		case client.IsNotFound(err), client.StatusOf(err) == http.StatusBadRequest,
			client.StatusOf(err) == http.StatusUnprocessableEntity: // the check of the manifest says it with its place
			return "", false, nil
		case err != nil:
			return "", false, fmt.Errorf("look for ${%s} in the bucket of %s: %w", key, strings.Trim(scope+"/"+name, "/"), err)
		}
		return value, true, nil
	}
}

// set identifies the sources: --prune removes only what the same sources applied before.
func (s *sources) set(args []string) string {
	if s.name != "" {
		return digest("set", s.name)
	}
	host, _ := os.Hostname() // one path on two machines is two sets
	names := []string{host}
	for _, file := range append(slices.Clone(s.files), args...) {
		if absolute, err := filepath.Abs(file); err == nil && file != "-" {
			file = absolute
			if real, err := filepath.EvalSymlinks(absolute); err == nil {
				file = real
			}
		}
		names = append(names, file)
	}
	slices.Sort(names[1:])
	return digest(names...)
}

func digest(names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:8])
}

// located adds positions in the files to the errors that a server found in the manifests.
func located(err error, loaded manifest.Result) error {
	var problem *api.Problem
	if !errors.As(err, &problem) || len(problem.Errors) == 0 {
		return err
	}
	explained := loaded.Explain(problem.Errors)
	text := problem.Detail + "\n" + explained.Error()
	if problem.Next != "" {
		text += "\n  " + problem.Next
	}
	located := *problem
	located.Errors = fieldErrors(explained)
	return &exitStatus{code: exitError, text: text, cause: &located}
}
