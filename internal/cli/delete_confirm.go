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
// it. beside is what is lost besides the objects. Without a terminal nobody could answer, and scripts name what they want
// deleted: there the warning is all.
func (a *app) confirmDeletion(ctx context.Context, c *client.Client, ask deletion, refs []api.Ref, beside ...string) error {
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

// warnOfDependents names what needs an object that is about to go, beside what goes with it. The answer is what the deletion
// would take.
func (a *app) warnOfDependents(ctx context.Context, c *client.Client, ref api.Ref, beside []api.Ref, with client.DeleteOptions) (api.DeleteResult, error) {
	would, err := wouldDelete(ctx, c, ref, with)
	would.Dependents = slices.DeleteFunc(would.Dependents, func(d api.Dependent) bool { return slices.Contains(beside, d.Ref) })
	for _, d := range would.Dependents {
		if !a.structured() {
			fmt.Fprintf(a.err, "warning: %s needs %s (%s)\n", d.Ref, ref, d.Field)
		}
	}
	return would, err
}

// wouldDelete is what a deletion would take. One that is refused because another object reads the bucket may be taken when its
// turn comes, after that object: it is answered as if nobody did. For any other refusal nothing is: the deletion says so.
func wouldDelete(ctx context.Context, c *client.Client, ref api.Ref, with client.DeleteOptions) (api.DeleteResult, error) {
	with.DryRun = true
	would, err := c.DeleteWith(ctx, ref, with)
	problem := (*api.Problem)(nil)
	if !errors.As(err, &problem) || problem.Status >= http.StatusInternalServerError {
		return would, err
	}
	if !with.Prune || problem.Status != http.StatusConflict {
		return api.DeleteResult{}, nil // it is not there, or in use by something that goes before it
	}
	with.Prune = false
	if would, err = wouldDelete(ctx, c, ref, with); err != nil || !ref.Kind.HasContainers() {
		return would, err
	}
	there, err := c.ConfigKeys(ctx, ref.Scope, ref.Name)
	would.RemovedConfig = there.Keys
	return would, err
}
