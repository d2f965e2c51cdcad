package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/manifest"
)

// deletion holds the options of `tend delete`.
type deletion struct {
	from     sources
	wait     waiting
	tolerant bool
	// scope, if it is set, is the scope to delete completely.
	scope string
	yes   bool
	with  client.DeleteOptions
}

func (a *app) deleteCommand() *cobra.Command {
	var ask deletion
	command := &cobra.Command{
		Aliases: []string{"rm"},
		Use:     "delete [KIND] SCOPE/NAME... | -f FILE... | --scope SCOPE",
		Short:   "stop and remove objects; config and volumes stay",
		Long: "Stop and remove objects, and wait until they are gone. Their config stays unless --prune is given, and the volumes of\n" +
			"statefulsets stay unless --volumes is given. Neither can be undone. With --scope everything in a scope goes,\n" +
			"and --prune takes all config of the scope, also of apps that are gone.\n" +
			"Names the objects that need what goes: ingresses, ${ref...}, depends_on, env_from. On a terminal it asks before it takes\n" +
			"something that others need, config or volumes; elsewhere it goes on.\n\n" +
			"Exit status: 0 gone, 1 error or nothing of that name, 3 timed out (the deletion goes on).",
		Example: "  tend delete prod/web\n  tend delete deployment prod/web deployment prod/api\n  tend delete -f deploy/ --ignore-not-found\n" +
			"  tend delete statefulset prod/db --prune --volumes\n  tend delete --scope review-7 --prune --volumes",
		ValidArgsFunction: a.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ask.wait.check(); err != nil {
				return err
			}
			return a.connected(func(ctx context.Context, c *client.Client, args []string) error {
				if ask.scope != "" {
					return a.deleteScope(ctx, c, ask, args)
				}
				refs, err := a.toDelete(ctx, c, ask, args)
				if err != nil {
					return err
				}
				if err := a.confirmDeletion(ctx, c, ask, refs); err != nil {
					return err
				}
				return a.deleteAll(ctx, c, ask, refs)
			})(cmd, args)
		},
	}
	ask.from.flags(command)
	ask.wait.flags(command)
	command.Flags().StringVar(&ask.scope, "scope", "", "everything in a `SCOPE`")
	command.Flags().BoolVar(&ask.tolerant, "ignore-not-found", false, "objects that don't exist are no error")
	command.Flags().BoolVar(&ask.with.Prune, "prune", false, "remove the config of each object's own bucket too")
	command.Flags().BoolVar(&ask.with.Orphan, "orphan", false,
		"don't ask the Kubernetes cluster: what was applied there stays; of a cluster, of all that is in it")
	command.Flags().BoolVarP(&ask.yes, "yes", "y", false, "don't ask")
	command.Flags().BoolVar(&ask.with.Volumes, "volumes", false,
		"remove the volumes of statefulsets' pods too, with all data in them")
	return command
}

// madeOf returns the objects that stand for a macro.
func madeOf(ctx context.Context, c *client.Client, macro api.Ref) ([]api.Ref, error) {
	var refs []api.Ref
	for _, kind := range api.KindsThat(api.Kind.Stored) {
		listed, err := c.Objects(ctx, kind, client.ObjectFilter{Selector: api.LabelMacro + "=" + macro.String()})
		if err != nil {
			return nil, err
		}
		for _, object := range listed.Items {
			refs = append(refs, object.Ref())
		}
	}
	return refs, nil
}

// toDelete returns the objects named by manifests, or else by addresses.
func (a *app) toDelete(ctx context.Context, c *client.Client, ask deletion, args []string) ([]api.Ref, error) {
	if len(ask.from.files) > 0 {
		loaded, err := ask.from.load(ctx, a, args)
		var refs []api.Ref
		for _, object := range loaded.Objects {
			if object.Kind.Core() {
				refs = append(refs, object.Ref())
				continue
			}
			stand, err := madeOf(ctx, c, object.Ref())
			if err != nil {
				return nil, err
			}
			if len(stand) == 0 {
				stand = []api.Ref{object.Ref()} // nothing has that name, as the server answers: no macro is stored
			}
			refs = append(refs, stand...)
		}
		// Delete what others use after its users.
		slices.SortStableFunc(refs, func(a, b api.Ref) int { return usedByOthers(a) - usedByOthers(b) })
		return refs, err
	}
	if len(args) == 0 {
		return nil, nothingNamed()
	}
	var refs []api.Ref
	for rest := args; len(rest) > 0; {
		var (
			wanted address
			err    error
		)
		if wanted, rest, err = parseAddress(rest); err != nil {
			return nil, err
		}
		if wanted.kind == api.KindApp && wanted.scope != "" {
			for _, kind := range storedAs(wanted.kind) {
				refs = append(refs, api.Ref{Kind: kind, Scope: wanted.scope, Name: wanted.name})
			}
			continue
		}
		more, err := deleted(ctx, c, wanted)
		var absent *missingError
		if errors.As(err, &absent) && ask.tolerant {
			if absent.next != "" && a.output != "name" {
				fmt.Fprintf(a.err, "there is no %s\n  %s\n", absent.what, absent.next)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		refs = append(refs, more...)
	}
	return refs, nil
}

// nothingNamed returns the error of a deletion without an argument: no folder stands for what is to be deleted, as one
// does for what is to be applied.
func nothingNamed() error {
	text := "name an object as KIND SCOPE/NAME or SCOPE/NAME"
	if found, err := manifest.Manifests("."); err == nil {
		text += fmt.Sprintf("\n  what the manifests in %s declare: tend delete -f %s", found, found)
	}
	return errors.New(text + "\n  all of a scope: tend delete --scope SCOPE; volumes stay")
}

// deleted returns the object that an address names for a deletion, or the labs of the class that it names.
func deleted(ctx context.Context, c *client.Client, wanted address) ([]api.Ref, error) {
	ref, err := resolveExactly(ctx, c, wanted)
	if err == nil && ref.Kind == api.KindLab {
		if _, err = c.Object(ctx, ref); client.IsNotFound(err) {
			err = unlessClass(ctx, c, wanted, missing(ctx, c, wanted))
		}
	}
	var class *classError
	if !errors.As(err, &class) {
		return []api.Ref{ref}, err
	}
	var refs []api.Ref
	for _, lab := range class.labs {
		refs = append(refs, lab.Ref())
	}
	return refs, nil
}

// reportLeft prints what a deletion removes besides the object, and what it leaves.
func (a *app) reportLeft(result api.DeleteResult, with client.DeleteOptions) {
	if a.output == "name" {
		return
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"config removed", result.RemovedConfig}, {"volumes go", result.RemovedVolumes}, {"volumes stay", result.Volumes}} {
		if len(part.names) > 0 {
			fmt.Fprintf(a.err, "%s: %s\n", part.what, strings.Join(part.names, " "))
		}
	}
	if with.Volumes && len(result.Volumes) > 0 {
		fmt.Fprintln(a.err, "  no pod is left to remove those that stay: `docker volume rm` does, on the node that still has them")
	}
}

func usedByOthers(ref api.Ref) int {
	if !ref.Kind.HasController() {
		return 1
	}
	return 0
}

// deleteAll requests every deletion before it waits for any. It reports missing objects at the end.
func (a *app) deleteAll(ctx context.Context, c *client.Client, ask deletion, refs []api.Ref) error {
	var (
		waits   []wait
		absent  error
		results []api.DeleteResult
	)
	asked := map[api.Ref]bool{}
	for _, ref := range refs {
		if asked[ref] {
			continue
		}
		asked[ref] = true
		result, err := c.DeleteWith(ctx, ref, ask.with)
		switch {
		case client.IsNotFound(err) && ask.tolerant:
			continue
		case client.IsNotFound(err):
			absent = errors.Join(absent, missing(ctx, c, address{kind: ref.Kind, scope: ref.Scope, name: ref.Name}))
			continue
		case err != nil:
			return err
		}
		results = append(results, result)
		waits = append(waits, wait{Awaited: api.Awaited{Ref: ref, Revision: result.Revision, Gone: true}})
		if !a.structured() {
			_ = a.say(nil, ref.String(), fmt.Sprintf("%s deleting", ref))
			a.reportLeft(result, ask.with)
		}
	}
	if a.structured() {
		if err := (listing{value: api.ListResult[api.DeleteResult]{Items: results}}).write(a.streams, a.output); err != nil {
			return err
		}
	}
	if ask.wait.none {
		return absent
	}
	return errors.Join(a.await(ctx, c, waits, ask.wait.timeout), absent)
}
