package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) diffCommand() *cobra.Command {
	var (
		from     sources
		request  = api.ApplyRequest{DryRun: true}
		detailed bool
	)
	command := &cobra.Command{
		Use:   "diff [-f FILE...]",
		Short: "show what apply would change, and the actions that would run",
		Long: "Show what apply would change: the fields, and the actions the planner will ask for. Nothing is stored.\n\n" +
			"Exit status: 0, or with --detailed-exitcode 0 no changes, 1 error, 2 changes.",
		Example: "  tend diff -f web.hcl\n  tend diff -f deploy/ --prune --detailed-exitcode",
		RunE: func(cmd *cobra.Command, args []string) error {
			if request.Prune {
				if err := from.prunable(args); err != nil {
					return err
				}
			}
			loaded, err := from.loadFor(cmd.Context(), a, args, request.Prune)
			if err != nil {
				return err
			}
			if _, err := a.packTrees(cmd.Context(), loaded, false); err != nil {
				return err
			}
			request.Objects, request.Set = loaded.Objects, from.set(args)
			return a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
				result, err := a.applyBuilt(ctx, c, applyOnce, request, loaded)
				if err != nil {
					return located(err, loaded)
				}
				a.warn(result)
				a.noteLeft(result, from, args)
				a.noteTaken(result, from, args)
				if err := a.notePruned(ctx, c, result, ""); err != nil {
					return err
				}
				return a.differs(result, detailed, request.ForceConflicts)
			})(cmd, args)
		},
	}
	from.flags(command)
	from.setFlag(command)
	from.procfileFlags(command)
	command.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit 2 where there are changes")
	command.Flags().BoolVar(&request.ForceConflicts, "force-conflicts", false, forceConflictsUsage)
	command.Flags().BoolVar(&request.Prune, "prune", false, "include what --prune would delete")
	return command
}

// differs prints a dry run and turns it into the exit status.
func (a *app) differs(result api.ApplyResult, detailed, force bool) error {
	switch {
	case a.structured():
		if err := (listing{value: result}).write(a.streams, a.output); err != nil {
			return err
		}
	case a.output == "name":
		a.printNames(changed(result))
	default:
		a.printDiff(result)
	}
	if err := refusedFor(result, force); err != nil {
		return err
	}
	if detailed && (result.Changed() || len(result.Plan) > 0) {
		return &exitStatus{code: exitChanges}
	}
	return nil
}

// refusedFor returns the error that an apply of a dry run's objects would be refused with.
func refusedFor(result api.ApplyResult, force bool) error {
	count := 0
	for _, object := range result.Objects {
		count += len(object.Conflicts)
	}
	if count == 0 || force {
		return nil
	}
	return fmt.Errorf("apply would be refused: another manager set %d of these fields to another value\n"+
		"  leave them out, set them to the same value, or take them over with --force-conflicts", count)
}

// printMacros prints the objects that macros stand for, and what their plugins do before those are stored.
func (a *app) printMacros(macros []api.MacroResult) {
	for _, macro := range macros {
		if done := macro.Installed; done != nil {
			fmt.Fprintf(a.out, "plugin %s %s installed from %s\n", done.Plugin, done.Version, done.Source)
		}
		names := make([]string, len(macro.To))
		for i, ref := range macro.To {
			names[i] = ref.String()
		}
		fmt.Fprintf(a.out, "%s stands for %s\n", macro.From, strings.Join(names, ", "))
		for _, action := range macro.Actions {
			fmt.Fprintf(a.out, "  %s\n", printable(action, ""))
		}
	}
}

// changed removes the objects that stay as they are.
func changed(result api.ApplyResult) api.ApplyResult {
	out := result
	out.Objects = nil
	for _, object := range result.Objects {
		if object.Action != api.ActionUnchanged {
			out.Objects = append(out.Objects, object)
		}
	}
	return out
}

// printDiff shows the fields of each object, then the actions of each.
func (a *app) printDiff(result api.ApplyResult) {
	p := paintFor(a.out)
	a.printMacros(result.Macros)
	for _, object := range result.Objects {
		a.printChanges(p, object)
	}
	for _, ref := range result.Pruned {
		fmt.Fprintln(a.out, p.red(fmt.Sprintf("- %s", ref)))
	}
	a.printPlan(p, result)
}

func (a *app) printChanges(p paint, object api.ObjectResult) {
	switch object.Action {
	case api.ActionCreated:
		fmt.Fprintln(a.out, p.green(fmt.Sprintf("+ %s", object.Ref)))
	case api.ActionConfigured:
		fmt.Fprintln(a.out, p.yellow(fmt.Sprintf("~ %s", object.Ref)))
	default:
		fmt.Fprintf(a.out, "= %s\n", object.Ref)
	}
	a.printUnmet(p, object.Unmet)
	for _, change := range object.Changes {
		switch {
		case change.Old == nil:
			fmt.Fprintln(a.out, p.green(fmt.Sprintf("    + %s: %s", change.Path, briefDigests(change.New))))
		case change.New == nil:
			fmt.Fprintln(a.out, p.red(fmt.Sprintf("    - %s: %s", change.Path, briefDigests(change.Old))))
		default:
			fmt.Fprintln(a.out, p.yellow(fmt.Sprintf("    ~ %s: %s -> %s", change.Path, briefDigests(change.Old), briefDigests(change.New))))
		}
	}
	for _, kept := range object.Kept {
		fmt.Fprintf(a.out, "    = %s: %s (%s set it at %s; it stays)\n", kept.Path, cut(briefDigests(kept.Value), 60), kept.Manager,
			kept.At.UTC().Format(time.RFC3339))
	}
	for _, c := range object.Conflicts {
		fmt.Fprintln(a.out, p.red(fmt.Sprintf("    ! %s: %s set it to %s at %s", c.Path, c.Manager, cut(briefDigests(c.Value), 60),
			c.At.UTC().Format(time.RFC3339))))
	}
}

// printUnmet prints why an object isn't as declared, in the words of its condition.
func (a *app) printUnmet(p paint, c *api.Condition) {
	if c == nil {
		return
	}
	text := "    not as declared: " + c.Reason
	if head, _, _ := strings.Cut(c.Message, "\n"); head != "" {
		text += ": " + head
	}
	fmt.Fprintln(a.out, wrapped(p.yellow(printable(text, "")), a.width()))
	if c.Next != "" {
		fmt.Fprintln(a.out, wrapped(printable("      "+nextLabel+c.Next, ""), a.width()))
	}
}

func (a *app) printPlan(p paint, result api.ApplyResult) {
	differs := func(o api.ObjectResult) bool { return len(o.Warnings)+len(o.Kept) > 0 } // from what is declared, or may
	unmet := func(o api.ObjectResult) bool { return o.Unmet != nil }
	switch {
	case len(result.Plan) == 0 && !result.Changed() && slices.ContainsFunc(result.Objects, unmet):
		fmt.Fprintln(a.out, "\nno actions: nothing would be changed, and not everything is as declared")
		return
	case len(result.Plan) == 0 && (result.Changed() || slices.ContainsFunc(result.Objects, differs)):
		fmt.Fprintln(a.out, "\nno actions")
		return
	case len(result.Plan) == 0:
		fmt.Fprintln(a.out, "\nno actions: everything runs as declared")
		return
	}
	var last api.Ref
	for _, action := range result.Plan {
		if action.Object != last {
			fmt.Fprintf(a.out, "\nactions for %s\n", action.Object)
			last = action.Object
		}
		fmt.Fprintln(a.out, p.action(action))
	}
}

// action returns a line of the plan: what comes, what goes, and the rest.
func (p paint) action(action api.PlannedAction) string {
	text := strings.TrimSpace(action.Text)
	switch action.Verb {
	case "create":
		return p.green("  + " + text)
	case "shutdown", "stop", "remove", "forget", "delete", "prune":
		return p.red("  - " + text)
	}
	return p.yellow("  ~ " + text)
}
