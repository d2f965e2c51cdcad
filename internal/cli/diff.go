package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
)

func (a *app) diffCommand() *cobra.Command {
	var (
		from     sources
		detailed bool
		prune    bool
	)
	command := &cobra.Command{
		Use:   "diff -f FILE...",
		Short: "show what apply would change, and the very actions that would run",
		Long: "Show what apply would change: the fields, and the actions the planner will ask for. Nothing is stored.\n\n" +
			"Exit status: 0, or with --detailed-exitcode 0 no changes, 1 error, 2 changes.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			loaded, err := from.load(a, args)
			if err != nil {
				return err
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			result, err := c.Apply(cmd.Context(), api.ApplyRequest{Objects: loaded.Objects, DryRun: true, Prune: prune, Set: from.set(args)})
			if err != nil {
				return err
			}
			if a.output == "json" || a.output == "yaml" {
				err = listing{value: result}.write(a.streams, a.output)
			} else {
				err = a.printDiff(result)
			}
			if err == nil && detailed && (result.Changed() || len(result.Plan) > 0) {
				return &exitStatus{code: exitPaused, text: ""}
			}
			return err
		},
	}
	from.flags(command)
	command.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit 2 where there are changes")
	command.Flags().BoolVar(&prune, "prune", false, "include what --prune would delete")
	return command
}

// printDiff shows fields, then actions.
func (a *app) printDiff(result api.ApplyResult) error {
	for _, object := range result.Objects {
		sign := map[api.ApplyAction]string{api.ActionCreated: "+", api.ActionConfigured: "~", api.ActionUnchanged: "="}[object.Action]
		fmt.Fprintf(a.out, "%s %s\n", sign, object.Ref)
		for _, change := range object.Changes {
			switch {
			case change.Old == nil:
				fmt.Fprintf(a.out, "    + %s: %s\n", change.Path, change.New)
			case change.New == nil:
				fmt.Fprintf(a.out, "    - %s: %s\n", change.Path, change.Old)
			default:
				fmt.Fprintf(a.out, "    ~ %s: %s -> %s\n", change.Path, change.Old, change.New)
			}
		}
	}
	for _, ref := range result.Pruned {
		fmt.Fprintf(a.out, "- %s\n", ref)
	}
	if len(result.Plan) == 0 {
		fmt.Fprintln(a.out, "\nnothing to do: what runs is what is declared")
		return nil
	}
	fmt.Fprintf(a.out, "\n%d actions:\n", len(result.Plan))
	for _, action := range result.Plan {
		fmt.Fprintf(a.out, "  %s: %s\n", action.Object, action.Text)
	}
	return nil
}
