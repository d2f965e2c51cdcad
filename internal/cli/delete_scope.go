package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// deleteScope deletes everything in a scope. The config goes last, bucket by bucket: until its objects are gone one may read
// another's.
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
	buckets := []string{""}
	for _, ref := range refs {
		if ref.Kind.HasContainers() {
			buckets = append(buckets, ref.Name)
		}
	}
	if err := a.confirmDeletion(ctx, c, ask, refs); err != nil {
		return err
	}
	prune := ask.with.Prune
	ask.with.Prune, ask.tolerant = false, true // what another deletes meanwhile is gone as well
	if err := a.deleteAll(ctx, c, ask, refs); err != nil || !prune {
		return err
	}
	removed := 0
	for _, name := range buckets {
		n, err := a.emptyBucket(ctx, c, ask.scope, name)
		if err != nil {
			return err
		}
		removed += n
	}
	if len(refs)+removed == 0 {
		return &missingError{what: "scope " + ask.scope + ", nor config of one"}
	}
	return nil
}

// everythingIn lists the objects of a scope; what others use comes last.
func everythingIn(ctx context.Context, c *client.Client, scope string) (refs []api.Ref, err error) {
	for _, used := range []int{0, 1} {
		for _, kind := range kinds {
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

// emptyBucket removes the keys of a bucket and returns how many there were.
func (a *app) emptyBucket(ctx context.Context, c *client.Client, scope, name string) (int, error) {
	there, err := c.ConfigKeys(ctx, scope, name)
	if err != nil || len(there.Keys) == 0 {
		return 0, err
	}
	if _, err := c.SetConfig(ctx, scope, name, api.ConfigRequest{Unset: there.Keys}); err != nil {
		return 0, err
	}
	if a.output != "name" {
		fmt.Fprintf(a.err, "config removed: %s of %s\n", strings.Join(there.Keys, " "), strings.Trim(scope+"/"+name, "/"))
	}
	return len(there.Keys), nil
}
