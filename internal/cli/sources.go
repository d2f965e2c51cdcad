package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/manifest"
)

// sources are the manifests a command speaks of.
type sources struct {
	files  []string
	format string
}

func (s *sources) flags(command *cobra.Command) {
	command.Flags().StringArrayVarP(&s.files, "file", "f", nil, "manifest: a `FILE`, a directory, or - for stdin (repeatable)")
	command.Flags().StringVar(&s.format, "format", "", "`LANGUAGE` of stdin: hcl, yaml or json")
	_ = command.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"hcl", "yaml", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (s *sources) load(a *app, args []string) (manifest.Result, error) {
	files := append(slices.Clone(s.files), args...)
	if len(files) == 0 {
		return manifest.Result{}, fmt.Errorf("nothing to read: name manifests with -f FILE, a directory, or - for stdin")
	}
	return manifest.Load(manifest.Options{Files: files, Stdin: a.in, Format: s.format})
}

// set identifies the sources: --prune removes only what the same sources applied before.
func (s *sources) set(args []string) string {
	var names []string
	for _, file := range append(slices.Clone(s.files), args...) {
		if absolute, err := filepath.Abs(file); err == nil && file != "-" {
			file = absolute
		}
		names = append(names, file)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:8])
}

// located gives the faults a server found in the manifests their places in the files.
func located(err error, loaded manifest.Result) error {
	var problem *api.Problem
	if !errors.As(err, &problem) || len(problem.Errors) == 0 {
		return err
	}
	text := problem.Detail + "\n" + loaded.Explain(problem.Errors).Error()
	if problem.Next != "" {
		text += "\n  " + problem.Next
	}
	return &exitStatus{code: exitError, text: text}
}
