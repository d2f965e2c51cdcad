package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// fewNames is how many objects are named that have one warning in common.
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
