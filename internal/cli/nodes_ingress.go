package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tend.dev/tend/client"
)

func (a *app) nodeIngressCommand() *cobra.Command {
	var force bool
	command := &cobra.Command{
		Use: "ingress NODE on|off", Short: "let a node serve ingresses, or no longer", Args: takes(2, 2),
		ValidArgsFunction: a.completeNodes,
		Long: "Let a node serve ingresses, or no longer. A node that serves them holds the TLS keys of the hosts that ingresses declare;\n" +
			"one that doesn't gets none, and its proxy answers nothing. The nodes of servers serve unless this says otherwise, a machine\n" +
			"that joins only if its token was made with --ingress.",
		Example: "  tend nodes ingress worker-1 on\n  tend nodes ingress worker-1 off",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			did, on := map[string]string{"on": "%s serves ingresses", "off": "%s serves no ingresses"}, args[1] == "on"
			if did[args[1]] == "" {
				return fmt.Errorf("%q: say on or off", args[1])
			}
			result, err := c.SetNodeIngress(ctx, args[0], on, force)
			if err != nil {
				return err
			}
			return a.say(result, args[0], fmt.Sprintf(did[args[1]], args[0]))
		}),
	}
	forceConflicts(command, &force)
	return command
}
