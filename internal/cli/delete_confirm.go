package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// confirmDeletion warns of what needs the objects that are about to go, and asks on a terminal where something is lost by
// it. Without a terminal nobody could answer, and scripts name what they want deleted: there the warning is all.
func (a *app) confirmDeletion(ctx context.Context, c *client.Client, ask deletion, refs []api.Ref) error {
	ask.with.DryRun = true
	var lost []string
	for _, ref := range refs {
		would, err := c.DeleteWith(ctx, ref, ask.with)
		if problem := (*api.Problem)(nil); errors.As(err, &problem) && problem.Status < http.StatusInternalServerError {
			continue // it is not there, or in use by something that goes before it: the deletion says so
		}
		if err != nil {
			return err
		}
		needed := slices.DeleteFunc(would.Dependents, func(d api.Dependent) bool { return slices.Contains(refs, d.Ref) })
		for _, d := range needed {
			if !a.structured() {
				fmt.Fprintf(a.err, "warning: %s needs %s (%s)\n", d.Ref, ref, d.Field)
			}
		}
		if len(needed) > 0 {
			lost = append(lost, ref.String())
		}
		for _, key := range would.RemovedConfig {
			lost = append(lost, "config "+key)
		}
		for _, volume := range would.RemovedVolumes {
			lost = append(lost, "volume "+volume)
		}
	}
	if len(lost) == 0 || !terminal(a.in) {
		return nil
	}
	return a.confirm(ask.yes, "This deletes "+strings.Join(lost, ", ")+" for good.")
}
