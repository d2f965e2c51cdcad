package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/input/manifest"
)

func (a *app) fmtCommand() *cobra.Command {
	check := false
	command := &cobra.Command{
		Use:   "fmt [FILE|FOLDER...]",
		Short: "lay out manifests in HCL: indents, and = signs in a column",
		Long: "Lay out manifests in HCL: indents, and = signs in a column. The files named, or those of .tend, are rewritten where that\n" +
			"changes them, and listed; - reads standard input and writes standard output. Only space between words changes. YAML\n" +
			"and JSON are left alone.",
		Example: "  tend fmt\n  tend fmt --check deploy/     # in CI: list what isn't laid out, and fail\n  tend fmt - < web.hcl",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				text, err := io.ReadAll(a.in)
				if err == nil {
					_, err = a.out.Write(manifest.Format(text))
				}
				return err
			}
			return a.layOut(args, check)
		},
	}
	command.Flags().BoolVar(&check, "check", false,
		"change nothing; list the files that would change, and fail if there are any")
	return command
}

// layOut formats the files that are not formatted yet, and lists them.
func (a *app) layOut(paths []string, check bool) error {
	if len(paths) == 0 {
		found, err := manifest.Manifests(".")
		if err != nil {
			return fmt.Errorf("%w in .tend or .voodu; name a file or a folder", err)
		}
		paths = []string{found}
	}
	layouts, err := manifest.Layouts(manifest.Options{Files: paths})
	if err != nil {
		return err
	}
	changed := 0
	for _, l := range layouts {
		if bytes.Equal(l.Before, l.After) {
			continue
		}
		changed++
		if !check {
			if err := l.Write(); err != nil {
				return err
			}
		}
		fmt.Fprintln(a.out, l.Path)
	}
	if check && changed > 0 {
		return &exitStatus{code: exitError}
	}
	return nil
}
