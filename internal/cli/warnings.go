package cli

import (
	"context"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
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
		fmt.Fprintf(a.err, "warning: %s: %s\n", few(refs), warning)
	}
}

// few lists the first objects in a line, and counts the others.
func few(refs []api.Ref) string {
	names := words(refs[:min(len(refs), fewNames)])
	if more := len(refs) - fewNames; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
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

// noteTaken prints which objects other files declared last: from this apply on, a prune goes by these files. Stdin
// without a name prunes nothing, so it counts on neither side.
func (a *app) noteTaken(result api.ApplyResult, from sources, args []string) {
	var taken []api.Ref
	for _, object := range result.Objects {
		if namesFiles(object.FormerSet) {
			taken = append(taken, object.Ref)
		}
	}
	if len(taken) == 0 || from.prunable(args) != nil {
		return
	}
	fmt.Fprintf(a.err, "note: other files (or another --set) declared it until now: %s\n"+
		"  from now on it belongs to these files: with --prune it is deleted once they no longer declare it\n", few(taken))
}

// namesFiles reports whether a set is that of files, or has a name. Stdin without a name, on this machine, counts as no
// files.
func namesFiles(set string) bool {
	stdin := sources{files: []string{"-"}}
	return set != "" && set != stdin.set(nil)
}

// noteFormer prints that other files, from which an object was taken over, may still declare it.
func (a *app) noteFormer(ctx context.Context, c *client.Client, ref api.Ref) error {
	object, err := c.Object(ctx, ref)
	if client.IsNotFound(err) {
		return nil // deleted meanwhile
	}
	if err == nil && namesFiles(object.Metadata.Stamps[api.StampFormerSet]) {
		fmt.Fprintf(a.err, "note: %s was applied from other files (or another --set) before these; "+
			"they may still declare it\n", ref)
	}
	return err
}
