package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// warn prints the warnings about objects that were stored nevertheless.
func (a *app) warn(result api.ApplyResult) {
	for _, macro := range result.Macros {
		for _, warning := range macro.Warnings {
			fmt.Fprintf(a.err, "warning: %s: %s\n", macro.From, warning)
		}
	}
	for _, object := range result.Objects {
		for _, warning := range object.Warnings {
			fmt.Fprintf(a.err, "warning: %s: %s\n", object.Ref, warning)
		}
	}
}
