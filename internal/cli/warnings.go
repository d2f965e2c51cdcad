package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// fewNames is the number of objects named in a warning that they have in common.
const fewNames = 3

// warn prints the warnings about objects that were stored nevertheless, each once.
func (a *app) warn(result api.ApplyResult) {
	for _, macro := range result.Macros {
		for _, warning := range macro.Warnings {
			fmt.Fprintf(a.err, "warning: %s: %s\n", macro.From, warning)
		}
	}
	about, order := map[string][]api.Ref{}, []string(nil)
	for _, object := range result.Objects {
		for _, warning := range object.Warnings {
			if about[warning] == nil {
				order = append(order, warning)
			}
			about[warning] = append(about[warning], object.Ref)
		}
	}
	for _, warning := range order {
		refs := about[warning]
		names := words(refs[:min(len(refs), fewNames)])
		if more := len(refs) - fewNames; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(a.err, "warning: %s: %s\n", names, warning)
	}
}

// words lists objects in a line.
func words(refs []api.Ref) (text string) {
	for i, ref := range refs {
		if i > 0 {
			text += ", "
		}
		text += ref.String()
	}
	return text
}

// noteLeft prints what the same files applied before and no longer hold: a renamed object runs on under its old name.
// Of stdin nothing says which objects are of one project.
func (a *app) noteLeft(result api.ApplyResult, from sources, args []string) {
	if from.prunable(args) != nil {
		return
	}
	files := "it was in these files before"
	if len(from.files)+len(args) == 1 {
		files = "it was in this file before"
	}
	for _, ref := range result.Left {
		is := "there"
		if ref.Kind.HasContainers() {
			is = "running"
		}
		fmt.Fprintf(a.err, "note: %s %s/%s is still %s; %s (tend delete %s %s/%s, or tend apply --prune)\n",
			ref.Kind, ref.Scope, ref.Name, is, files, ref.Kind, ref.Scope, ref.Name)
	}
	if result.MoreLeft > 0 {
		fmt.Fprintf(a.err, "note: so are %d more\n", result.MoreLeft)
	}
}
