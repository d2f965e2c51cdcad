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

// confirmDeletion warns about objects that depend on those to be deleted, and asks for confirmation on a terminal if
// the deletion loses data. beside lists what is lost besides the objects. Without a terminal there is no one to ask,
// and scripts name what they delete: confirmDeletion then only warns.
func (a *app) confirmDeletion(
	ctx context.Context, c *client.Client, ask deletion, refs []api.Ref, beside ...string,
) error {
	var lost []string
	for _, ref := range refs {
		would, err := a.warnOfDependents(ctx, c, ref, refs, ask.with)
		if err != nil {
			return err
		}
		if len(would.Dependents) > 0 {
			lost = append(lost, ref.String())
		}
		for _, key := range would.RemovedConfig {
			lost = append(lost, "config "+key)
		}
		for _, volume := range would.RemovedVolumes {
			lost = append(lost, "volume "+volume)
		}
	}
	if lost = append(lost, beside...); len(lost) == 0 || !terminal(a.in) {
		return nil
	}
	return a.confirm(ask.yes, "This deletes "+strings.Join(lost, ", ")+" for good.")
}

// warnOfDependents warns of objects that need an object to be deleted, except those deleted with it. It returns what
// the deletion would remove.
func (a *app) warnOfDependents(
	ctx context.Context, c *client.Client, ref api.Ref, beside []api.Ref, with client.DeleteOptions,
) (api.DeleteResult, error) {
	would, err := wouldDelete(ctx, c, ref, with)
	would.Dependents = slices.DeleteFunc(would.Dependents,
		func(d api.Dependent) bool { return slices.Contains(beside, d.Ref) })
	for _, d := range merged(would.Dependents) {
		switch {
		case a.structured():
		case d.Config != "":
			fmt.Fprintf(a.err, "warning: %s reads %s of %s/%s (%s), which is removed\n", d.Ref, d.Config, ref.Scope, ref.Name,
				d.Field)
		default:
			fmt.Fprintf(a.err, "warning: %s needs %s (%s)\n", d.Ref, ref, d.Field)
		}
	}
	return would, err
}

// merged returns one dependent for the fields of an object that need the same.
func merged(all []api.Dependent) (out []api.Dependent) {
	for _, d := range all {
		same := func(o api.Dependent) bool { return o.Ref == d.Ref && o.Config == d.Config }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Field += ", " + d.Field
			continue
		}
		out = append(out, d)
	}
	return out
}

// wouldDelete returns what a deletion would remove. A deletion that is refused because another object reads the bucket
// may succeed later, once that object is deleted: wouldDelete answers as if there were no such reader. After any other
// refusal it returns nothing, because the deletion itself reports the refusal.
func wouldDelete(
	ctx context.Context, c *client.Client, ref api.Ref, with client.DeleteOptions,
) (api.DeleteResult, error) {
	with.DryRun = true
	would, err := c.DeleteWith(ctx, ref, with)
	problem := (*api.Problem)(nil)
	if !errors.As(err, &problem) || problem.Status >= http.StatusInternalServerError {
		return would, err
	}
	if !with.Prune || problem.Status != http.StatusConflict {
		return api.DeleteResult{}, nil // it doesn't exist, or is in use by an object that is deleted before it
	}
	with.Prune = false
	if would, err = wouldDelete(ctx, c, ref, with); err != nil || !ref.Kind.HasContainers() {
		return would, err
	}
	there, err := c.ConfigKeys(ctx, ref.Scope, ref.Name)
	would.RemovedConfig = there.Keys
	return would, err
}
