package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tend.dev/tend/client"
)

// psCommand lists pods under the name that other tools use.
func (a *app) psCommand() *cobra.Command {
	var q query
	command := &cobra.Command{
		Use: "ps [[KIND] SCOPE/NAME]", Short: "list pods: short for get pods", Args: takes(0, 2), Hidden: true,
		ValidArgsFunction: a.completePods,
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			return a.getPods(ctx, c, q, append([]string{"pods"}, args...))
		}),
	}
	command.Flags().StringVarP(&q.scope, "scope", "s", "", "only this `SCOPE`")
	return command
}
