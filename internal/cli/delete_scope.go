package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// deleteScope deletes everything in a scope. It deletes the config last, bucket by bucket: while objects are left, one
// may read another's bucket.
func (a *app) deleteScope(ctx context.Context, c *client.Client, ask deletion, args []string) error {
	if len(args)+len(ask.from.files) > 0 {
		return errors.New("--scope means everything in the scope: name no objects and no files beside it")
	}
	if ask.with.Prune && ask.wait.none {
		return errors.New("--scope with --prune waits until the objects are gone: leave --no-wait out")
	}
	refs, err := everythingIn(ctx, c, ask.scope)
	if err != nil {
		return err
	}
	buckets, err := bucketsIn(ctx, c, ask.scope)
	if err != nil {
		return err
	}
	if len(refs)+len(buckets) == 0 {
		if ask.tolerant {
			return nil
		}
		return &missingError{what: "scope " + ask.scope + ", nor config of one", meant: nearScope(ctx, c, ask.scope)}
	}
	prune := ask.with.Prune
	ask.with.Prune, ask.tolerant = false, true // an object that another command deletes meanwhile is fine
	if !prune {
		buckets = nil
	}
	var config []string
	for _, there := range buckets {
		config = append(config, "config "+strings.Join(there.Keys, " ")+" of "+bucketOf(there).String())
	}
	if err := a.confirmDeletion(ctx, c, ask, refs, config...); err != nil {
		return err
	}
	if len(refs) == 0 && !prune {
		fmt.Fprintf(a.err, "scope %s has config alone: --prune removes it\n", ask.scope)
	}
	if err := a.deleteAll(ctx, c, ask, refs); err != nil {
		return err
	}
	for _, there := range buckets {
		if err := a.emptyBucket(ctx, c, bucketOf(there)); err != nil {
			return err
		}
	}
	return nil
}

// bucketsIn lists the buckets of a scope that hold keys: its own, and those of its apps, also of deleted apps.
func bucketsIn(ctx context.Context, c *client.Client, scope string) ([]api.ConfigResult, error) {
	own, err := c.ConfigKeys(ctx, scope, "")
	if err != nil {
		return nil, err
	}
	var out []api.ConfigResult
	for _, name := range own.Apps {
		there, err := c.ConfigKeys(ctx, scope, name)
		if err != nil {
			return nil, err
		}
		out = append(out, there)
	}
	return slices.DeleteFunc(append(out, own), func(there api.ConfigResult) bool { return len(there.Keys) == 0 }), nil
}

// everythingIn lists the objects of a scope; what others use comes last.
func everythingIn(ctx context.Context, c *client.Client, scope string) (refs []api.Ref, err error) {
	for _, used := range []int{0, 1} {
		for _, kind := range api.KindsThat(api.Kind.Stored) {
			listed, err := c.Objects(ctx, kind, client.ObjectFilter{Scope: scope})
			if err != nil {
				return nil, err
			}
			for _, object := range listed.Items {
				if ref := object.Ref(); ref.Scope == scope && usedByOthers(ref) == used {
					refs = append(refs, ref)
				}
			}
		}
	}
	return refs, nil
}

// emptyBucket removes the keys a bucket holds.
func (a *app) emptyBucket(ctx context.Context, c *client.Client, b bucket) error {
	there, err := c.ConfigKeys(ctx, b.scope, b.name)
	if err != nil || len(there.Keys) == 0 {
		return err
	}
	result, err := c.SetConfig(ctx, b.scope, b.name, api.ConfigRequest{Unset: there.Keys})
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(a.err, "warning: %s\n", warning)
	}
	if a.output != "name" {
		fmt.Fprintf(a.err, "config removed: %s of %s\n", strings.Join(there.Keys, " "), b)
	}
	return nil
}
