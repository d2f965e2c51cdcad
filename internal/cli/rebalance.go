package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) rebalanceCommand() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use: "rebalance [SCOPE[/NAME]]", Short: "move pods of deployments so that the nodes are level", Args: takes(0, 1),
		ValidArgsFunction: a.completeObjects,
		Long: "Move pods of deployments to other nodes, so that each deployment is spread evenly and no node has much more to do than\n" +
			"another. The plan is printed; then the pods are replaced one after another, under the strategies of their deployments. Pods\n" +
			"that other nodes don't take, or whose data is where they are, stay. A deployment in the middle of a rollout is\n" +
			"left alone. Pods of statefulsets, of global deployments and of jobs never move, nor do those on a cordoned node.",
		Example: "  tend rebalance --dry-run\n  tend rebalance\n  tend rebalance prod\n  tend rebalance prod/web",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			scope, name := "", ""
			if len(args) > 0 {
				scope, name, _ = strings.Cut(args[0], "/")
				if scope == "" || strings.Contains(name, "/") || strings.HasSuffix(args[0], "/") {
					return fmt.Errorf("%q is neither a scope nor SCOPE/NAME", args[0])
				}
			}
			result, err := c.Rebalance(ctx, scope, name, dryRun)
			if err != nil {
				return err
			}
			return a.showMoves(result)
		}),
	}
	command.Flags().BoolVar(&dryRun, "dry-run", false, "show what would move; change nothing")
	return command
}

// showMoves prints the plan of a rebalance on stdout, and what becomes of it on stderr.
func (a *app) showMoves(result api.RebalanceResult) error {
	l := listing{
		value: result, empty: "nothing to move: the nodes are level, as far as the rules allow",
		header: []string{"POD", "FROM", "TO", "WHY"}, narrow: narrowing{cut: []string{"WHY"}},
	}
	if result.Moving > 0 {
		l.empty = "nothing more to move"
	}
	for _, m := range result.Moves {
		l.names = append(l.names, m.Pod)
		l.rows = append(l.rows, []string{m.Pod, m.From, m.To, m.Why})
	}
	if err := l.write(a.streams, a.output); err != nil {
		return err
	}
	if result.Moving > 0 {
		fmt.Fprintf(a.err, "pods that an earlier rebalance still moves: %d\n", result.Moving)
	}
	if result.Changed {
		fmt.Fprintln(a.err, "they move one after another; `tend get pods` shows where they are")
	}
	return nil
}
