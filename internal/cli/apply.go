package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/manifest"
)

// applying holds the options of `tend apply`.
type applying struct {
	from    sources
	request api.ApplyRequest
	wait    waiting
}

func (a *app) applyCommand() *cobra.Command {
	var ask applying
	command := &cobra.Command{
		Use:   "apply [-f FILE...]",
		Short: "store manifests and wait until they run",
		// The names that other tools use.
		Aliases: []string{"up", "deploy"},
		Long: "Store manifests, all or none, and wait until every pod is ready. Without -f they come from this folder: its Procfile,\n" +
			"else the manifests in .tend or .voodu.\n\n" +
			exitStatusOfApply,
		Example: "  tend apply -f web.hcl\n  tend apply -f deploy/ --prune\n  cat web.yaml | tend apply -f - --format yaml\n" +
			"  tend apply -f web.hcl --no-wait -o json\n  tend apply --image ghcr.io/example/app:1     # the Procfile here",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ask.wait.check(); err != nil {
				return err
			}
			if ask.request.Prune {
				if err := ask.from.prunable(args); err != nil {
					return err
				}
			}
			loaded, err := ask.from.loadFor(cmd.Context(), a, args, ask.request.Prune)
			if err != nil {
				return err
			}
			trees, err := a.packTrees(cmd.Context(), loaded, !ask.request.DryRun)
			if err != nil {
				return err
			}
			defer dropTrees(trees)
			ask.request.Objects, ask.request.Set = loaded.Objects, ask.from.set(args)
			return a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
				if err := a.printPruned(ctx, c, ask.request, loaded); err != nil {
					return located(err, loaded)
				}
				if !ask.request.DryRun {
					if err := errors.Join(a.upload(ctx, c, loaded.Uploads), a.sendTrees(ctx, c, trees)); err != nil {
						return err
					}
				}
				result, err := a.applyBuilt(ctx, c, applyRetrying, ask.request, loaded)
				if err != nil {
					return located(err, loaded)
				}
				return a.applied(ctx, c, ask, args, result)
			})(cmd, args)
		},
	}
	ask.from.flags(command)
	ask.from.setFlag(command)
	ask.from.procfileFlags(command)
	flags := command.Flags()
	flags.BoolVar(&ask.request.DryRun, "dry-run", false,
		"show what would happen, as the diff command does; change nothing")
	flags.BoolVar(&ask.request.Prune, "prune", false, "delete what the same set (--set, or the same files) applied before and no longer hold")
	flags.BoolVar(&ask.request.Force, "force", false, "resolve (and pull) images again although their references did not change, and repeat builds")
	flags.BoolVar(&ask.request.ForceConflicts, "force-conflicts", false, forceConflictsUsage)
	ask.wait.flags(command)
	return command
}

const exitStatusOfApply = "Exit status: 0 converged, 1 error, 2 rolled back or paused, or nothing progresses: a lab waits for room, or an object\n" +
	"for another one that is in trouble (both go on by themselves), 3 timed out (Tend goes on working at it), 4 replaced by a\n" +
	"newer change before it was complete."

const forceConflictsUsage = "take over fields that another manager set to another value"

// printPruned prints what a prune will delete before anything is stored.
func (a *app) printPruned(
	ctx context.Context, c *client.Client, request api.ApplyRequest, loaded manifest.Result,
) error {
	if !request.Prune || request.DryRun || a.structured() || a.output == "name" {
		return nil
	}
	request.DryRun = true
	result, err := a.applyBuilt(ctx, c, applyRetrying, request, loaded)
	if isMissingPlugin(err) { // the apply installs it, or reports the same error
		fmt.Fprintln(a.err, "what will be pruned is not known: a plugin is not installed yet")
		return nil
	}
	if err != nil {
		return err
	}
	if err := a.notePruned(ctx, c, result, "will be pruned: %s\n"); err != nil {
		return err
	}
	return a.printKept(ctx, c, request)
}

// notePruned prints what may still declare what a prune deletes, and what needs it, unless a program reads the output.
// Each begins with title.
func (a *app) notePruned(ctx context.Context, c *client.Client, result api.ApplyResult, title string) error {
	if a.structured() {
		return nil
	}
	beside := slices.Clone(result.Pruned)
	for _, object := range result.Objects { // this apply decides about them; deleting what they need would be refused
		beside = append(beside, object.Ref)
	}
	for _, ref := range result.Pruned {
		if title != "" {
			fmt.Fprintf(a.err, title, ref)
		}
		if err := a.noteFormer(ctx, c, ref); err != nil {
			return err
		}
		if _, err := a.warnOfDependents(ctx, c, ref, beside, client.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// printKept prints objects that are not pruned although the user may expect it: they were applied together with objects
// of this apply, from other files. A renamed file counts as another one.
func (a *app) printKept(ctx context.Context, c *client.Client, request api.ApplyRequest) error {
	applied, sets := map[api.Ref]bool{}, map[string]bool{}
	for _, object := range request.Objects {
		applied[object.Ref()] = true
	}
	var stored []api.Object
	for _, kind := range api.KindsThat(api.Kind.Stored) {
		listed, err := c.Objects(ctx, kind, client.ObjectFilter{})
		if err != nil {
			return err
		}
		stored = append(stored, listed.Items...)
	}
	for _, object := range stored {
		if set := object.Metadata.Stamps[api.StampApplySet]; applied[object.Ref()] && set != request.Set {
			sets[set] = namesFiles(set)
		}
	}
	for _, object := range stored {
		if sets[object.Metadata.Stamps[api.StampApplySet]] && !applied[object.Ref()] && !object.Metadata.Deleting() {
			fmt.Fprintf(a.err, "not pruned: %s was applied from other files; delete it with: tend delete %s %s/%s\n",
				object.Ref(), object.Kind, object.Scope, object.Name)
		}
	}
	return nil
}

// applyRetrying waits for objects of the same name that are still being deleted.
func applyRetrying(ctx context.Context, c *client.Client, request api.ApplyRequest) (api.ApplyResult, error) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		result, err := client.Repeat(ctx, unknownPatience, func(ctx context.Context) (api.ApplyResult, error) {
			return c.Apply(ctx, request)
		})
		if err == nil || !isTerminating(err) || time.Now().After(deadline) {
			return result, err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return result, err
		}
	}
}

// isTerminating reports whether an apply met an object that is still being deleted.
func isTerminating(err error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusConflict && problem.Title == "Terminating"
}

// applied prints what was stored, then waits for it.
func (a *app) applied(
	ctx context.Context, c *client.Client, ask applying, args []string, result api.ApplyResult,
) error {
	a.warn(result)
	a.noteLeft(result, ask.from, args)
	a.noteTaken(result, ask.from, args)
	if result.DryRun {
		if err := a.notePruned(ctx, c, result, ""); err != nil {
			return err
		}
	}
	switch {
	case a.structured():
		if err := (listing{value: result}).write(a.streams, a.output); err != nil {
			return err
		}
	case a.output == "name":
		a.printNames(result)
	case result.DryRun:
		a.printDiff(result)
	default:
		a.printApplied(result)
	}
	if result.DryRun {
		return refusedFor(result, ask.request.ForceConflicts)
	}
	if ask.wait.none {
		return a.sayDeclared(ask.request.Objects, result)
	}
	var waits []wait
	for _, object := range result.Objects {
		if object.Ref.Kind.HasController() { // the other kinds take effect once they are stored
			waits = append(waits, wait{Awaited: api.Awaited{Ref: object.Ref, Revision: object.Revision,
				Generation: object.Generation, Built: object.Build != ""}, build: object.Build,
				answered: object.Ref.Kind == api.KindIngress})
		}
	}
	for _, ref := range result.Pruned {
		waits = append(waits, wait{Awaited: api.Awaited{Ref: ref, Revision: result.Revision, Gone: true}})
	}
	if err := a.await(ctx, c, waits, ask.wait.timeout); err != nil {
		return err
	}
	if err := a.sayServed(ctx, c, waits); err != nil {
		return err
	}
	return a.sayDeclared(ask.request.Objects, result)
}

// sayServed prints the URLs of the ingresses that were applied.
func (a *app) sayServed(ctx context.Context, c *client.Client, waits []wait) error {
	if a.structured() || a.output == "name" {
		return nil
	}
	for _, w := range waits {
		if w.Gone || w.Ref.Kind != api.KindIngress {
			continue
		}
		object, err := c.Object(ctx, w.Ref)
		if err != nil {
			return err
		}
		status, err := api.DecodeStatus[api.IngressStatus](object)
		if err != nil {
			return err
		}
		if ready := api.FindCondition(status.Conditions, api.ConditionReady); ready != nil &&
			ready.Status == api.ConditionTrue {
			fmt.Fprintf(a.out, "%s served at %s\n", w.Ref, status.URL)
		}
	}
	return nil
}

func (a *app) printNames(result api.ApplyResult) {
	for _, object := range result.Objects {
		fmt.Fprintln(a.out, object.Ref)
	}
	for _, ref := range result.Pruned {
		fmt.Fprintln(a.out, ref)
	}
}

func (a *app) printApplied(result api.ApplyResult) {
	a.printMacros(result.Macros)
	for _, object := range result.Objects {
		line := fmt.Sprintf("%s %s", object.Ref, object.Action)
		if text := changesText(object); object.Action == api.ActionConfigured && text != "" {
			line += ": " + text
		}
		if object.Retried {
			line += "; it was in trouble, and is tried again"
		}
		fmt.Fprintln(a.out, line)
	}
	for _, ref := range result.Pruned {
		fmt.Fprintf(a.out, "%s pruned\n", ref)
	}
}
